// Messages of the WebSocket /ws about the live agents and their office (docs/formats/websocket.md).

export type LiveState = "idle" | "listening" | "thinking" | "speaking";
export type Direction = "down" | "left" | "right" | "up";

export interface Tile {
  x: number;
  y: number;
}

/// A movement: at time t, the position is `speed·(t−t0)` tiles along the path.
export interface Walk {
  path: Tile[];
  t0_ms: number;
  speed: number;
}

export interface LiveAgent {
  agent_id: string;
  name: string;
  role?: string;
  state: LiveState;
  since?: string;
  position?: Tile | null;
  direction?: Direction;
  walk?: Walk | null;
  current_task?: string | null;
  task_id?: string | null;
  mind?: string;
  cli_backend?: string;
  definition?: string | null;
  error?: string | null;
  /// Why its mind is not asked yet.
  waiting?: string | null;
  last_message?: string | null;
  received?: number;
  lag?: number;
  thoughts?: number;
  warning?: string;
  created_at?: string;
}

export interface WorldUser {
  user_id: string;
  name?: string;
  is_agent?: boolean;
  position?: Tile | null;
  direction?: Direction;
}

export interface Furniture {
  uid: string;
  type: string;
  col: number;
  row: number;
  color?: unknown;
}

/// Tiles by row: 0 wall, 1–7 floor, 8 void.
export interface Layout {
  version: number;
  cols: number;
  rows: number;
  tiles: number[];
  furniture: Furniture[];
  tileColors?: unknown;
}

export interface Seat {
  uid: string;
  seatCol: number;
  seatRow: number;
  facingDir?: Direction | number;
  assigned?: boolean;
}

/// One message of the socket; its other fields depend on its type.
export interface WorldMessage {
  type: string;
  seq?: number;
  request_id?: string;
  [field: string]: unknown;
}

/// Why a request was refused.
export interface SocketError {
  code?: string;
  field?: string;
  message?: string;
  hint?: string;
}
