// Draws the map: tiles, walls and furniture as boxes, agents and people as discs with a glyph and a name, and speech
// bubbles. A frame is drawn only when something has changed, while somebody walks or a bubble fades, and if it is visible.
import { glyphs } from "../ui/states.ts";
import { name_height, placeLabels, type Box } from "./labels.ts";
import { bodyAt, sceneAt, type Body, type Scene, type Spoken } from "./scene.ts";
import type { World } from "./state.ts";
import type { Furniture, Layout, Tile } from "./wire.ts";

export interface MapState {
  world: World;
  selected: string | null;
  target_tile: Tile | null;
}

const min_tile = 6;
const max_tile = 40;
const named_from = 14;  // smaller tiles have no room for names
const disc_part = 0.38;  // of a tile: the radius of a disc
const line_height = 14;
const bubble_room = 8;
const bubbleFont = (family: string) => `12px ${family}`;

/// The CSS variables of the colours, so that the map follows the light and dark schemes.
const colours = { floor: "--raised", wall: "--line", ink: "--ink", soft: "--soft", faint: "--faint", paper: "--paper", sunk: "--sunk", accent: "--accent", idle: "--completed", listening: "--killed", thinking: "--needs", speaking: "--running", user: "--accent", error: "--failed" };
type Colours = Record<keyof typeof colours, string>;

/// The size of a piece of furniture in tiles; one tile if its type is unknown.
const sizes: Record<string, readonly [number, number]> = { bookshelf: [1, 2], desk: [2, 2], sofa: [2, 1], table: [3, 2], whiteboard: [2, 1] };
export const furnitureSize = ({ type }: Pick<Furniture, "type">): readonly [number, number] => sizes[type] ?? [1, 1];

/// The size of a tile in whole pixels, so that the map fits.
export function tileSize(layout: Pick<Layout, "cols" | "rows">, width: number, height: number): number {
  const fits = Math.floor(Math.min(width / Math.max(1, layout.cols), height / Math.max(1, layout.rows)));
  return Math.max(min_tile, Math.min(max_tile, fits));
}

/// Breaks text into at most `max_lines` lines that are at most `width` wide, as measured by `measure`. Truncated text ends
/// with "…".
export function wrap(text: string, width: number, measure: (text: string) => number, max_lines = 3): string[] {
  const lines: string[] = [];
  let line = "";
  const cut = (word: string) => {
    let end = word.length;
    while (end > 1 && measure(word.slice(0, end)) > width) --end;
    return end;
  };
  for (let word of text.split(" ")) {
    const longer = line ? `${line} ${word}` : word;
    if (measure(longer) <= width) {
      line = longer;
      continue;
    }
    if (line) lines.push(line);
    for (; measure(word) > width && lines.length <= max_lines; word = word.slice(cut(word))) lines.push(word.slice(0, cut(word)));
    line = word;
  }
  if (line) lines.push(line);
  if (lines.length <= max_lines) return lines;
  return [...lines.slice(0, max_lines - 1), `${lines[max_lines - 1]!.slice(0, -1)}…`];
}

export class WorldCanvas {
  #canvas: HTMLCanvasElement;
  #floor = document.createElement("canvas");
  #floor_of: { layout: Layout; tile: number; scale: number; colours: Colours } | null = null;
  #state: () => MapState;
  #colours!: Colours;
  #font = "system-ui";
  #tile = 0;
  #scene: Scene = { bodies: [], bubbles: [], next: null };
  #frame = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #is_seen = true;
  #still = matchMedia("(prefers-reduced-motion: reduce)");
  #dark = matchMedia("(prefers-color-scheme: dark)");
  #resized = new ResizeObserver(() => this.redraw());
  #seen = new IntersectionObserver((entries) => {
    this.#is_seen = entries.at(-1)?.isIntersecting ?? true;
    this.redraw();
  });
  #again = () => this.redraw();
  #recolour = () => {
    this.#readColours();
    this.redraw();
  };

  constructor(canvas: HTMLCanvasElement, state: () => MapState) {
    this.#canvas = canvas;
    this.#state = state;
    this.#readColours();
    this.#resized.observe(canvas.parentElement!);
    this.#seen.observe(canvas);
    this.#still.addEventListener("change", this.#again);
    this.#dark.addEventListener("change", this.#recolour);
    document.addEventListener("visibilitychange", this.#again);
  }

  close(): void {
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#timer);
    this.#resized.disconnect();
    this.#seen.disconnect();
    this.#still.removeEventListener("change", this.#again);
    this.#dark.removeEventListener("change", this.#recolour);
    document.removeEventListener("visibilitychange", this.#again);
  }

  /// Requests a frame. Several requests result in one frame; there is none while the map is not visible.
  redraw(): void {
    clearTimeout(this.#timer);
    if (this.#frame || document.hidden || !this.#is_seen) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  /// The tile at a point of the window, and who is there; null outside the map.
  tileAt(client_x: number, client_y: number): { tile: Tile; body: Body | null } | null {
    const { layout } = this.#state().world;
    if (!layout || !this.#tile) return null;
    const box = this.#canvas.getBoundingClientRect();
    const x = (client_x - box.left) / this.#tile, y = (client_y - box.top) / this.#tile;
    const tile = { x: Math.floor(x), y: Math.floor(y) };
    if (tile.x < 0 || tile.y < 0 || tile.x >= layout.cols || tile.y >= layout.rows) return null;
    return { tile, body: bodyAt(this.#scene, x, y) };
  }

  #readColours(): void {
    const style = getComputedStyle(this.#canvas);
    this.#colours = Object.fromEntries(Object.entries(colours).map(([name, variable]) => [name, style.getPropertyValue(variable).trim()])) as Colours;
    this.#font = style.fontFamily;
  }

  #draw(): void {
    const state = this.#state();
    const { layout } = state.world;
    const context = this.#canvas.getContext("2d");
    if (!layout || !context) return;
    const scale = devicePixelRatio || 1;
    const tile = this.#tile = tileSize(layout, this.#canvas.parentElement!.clientWidth, Math.max(240, innerHeight * 0.55));
    const width = layout.cols * tile, height = layout.rows * tile;
    if (this.#canvas.width !== Math.round(width * scale) || this.#canvas.height !== Math.round(height * scale)) {
      this.#canvas.width = Math.round(width * scale);
      this.#canvas.height = Math.round(height * scale);
      this.#canvas.style.width = `${width}px`;
      this.#canvas.style.height = `${height}px`;
    }
    this.#scene = sceneAt(state.world, Date.now(), this.#still.matches);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
    context.drawImage(this.#floorOf(layout, tile, scale), 0, 0);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    if (state.target_tile) this.#drawTarget(context, state.target_tile);
    for (const body of [...this.#scene.bodies].sort((a, b) => a.y - b.y)) this.#drawBody(context, body, body.id === state.selected);
    this.#drawLabels(context, state.selected, width, height);
    const { next } = this.#scene;
    if (next === 0) this.redraw();
    else if (next !== null) this.#timer = setTimeout(this.#again, next);
  }

  /// The floor and the furniture, drawn once and then reused.
  #floorOf(layout: Layout, tile: number, scale: number): HTMLCanvasElement {
    const known = this.#floor_of;
    if (known && known.layout === layout && known.tile === tile && known.scale === scale && known.colours === this.#colours) return this.#floor;
    this.#floor_of = { layout, tile, scale, colours: this.#colours };
    this.#floor.width = Math.round(layout.cols * tile * scale);
    this.#floor.height = Math.round(layout.rows * tile * scale);
    const context = this.#floor.getContext("2d");
    if (!context) return this.#floor;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    for (let row = 0; row < layout.rows; ++row)
      for (let col = 0; col < layout.cols; ++col) {
        const kind = layout.tiles[row * layout.cols + col] ?? 8;
        if (kind === 8) continue;
        context.fillStyle = kind === 0 ? this.#colours.wall : this.#colours.floor;
        context.fillRect(col * tile, row * tile, tile, tile);
        if (kind === 0 || tile < named_from) continue;
        context.strokeStyle = this.#colours.sunk;
        context.lineWidth = 1;
        context.strokeRect(col * tile + 0.5, row * tile + 0.5, tile - 1, tile - 1);
      }
    const area = (piece: Furniture) => furnitureSize(piece)[0] * furnitureSize(piece)[1];
    // Small pieces, which may stand on a desk, are drawn after large ones.
    for (const piece of [...layout.furniture].sort((a, b) => area(b) - area(a))) {
      const [across, down] = furnitureSize(piece);
      context.fillStyle = this.#colours.sunk;
      context.strokeStyle = this.#colours.faint;
      context.beginPath();
      // What hangs on a wall is flat.
      const is_flat = layout.tiles[piece.row * layout.cols + piece.col] === 0;
      context.roundRect(piece.col * tile + 2, (piece.row + (is_flat ? 0.55 : 0)) * tile + 2, across * tile - 4, down * tile * (is_flat ? 0.4 : 1) - 4, is_flat ? 1 : 3);
      context.fill();
      context.stroke();
    }
    return this.#floor;
  }

  #drawTarget(context: CanvasRenderingContext2D, { x, y }: Tile): void {
    context.strokeStyle = this.#colours.accent;
    context.lineWidth = 2;
    context.setLineDash([4, 3]);
    context.strokeRect(x * this.#tile + 1, y * this.#tile + 1, this.#tile - 2, this.#tile - 2);
    context.setLineDash([]);
  }

  #drawBody(context: CanvasRenderingContext2D, body: Body, is_selected: boolean): void {
    const tile = this.#tile, radius = tile * disc_part;
    const x = (body.x + 0.5) * tile, y = (body.y + 0.5) * tile;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = this.#colours[body.state];
    context.fill();
    context.lineWidth = is_selected ? 3 : body.has_error ? 2.5 : 1;
    context.strokeStyle = is_selected ? this.#colours.ink : body.has_error ? this.#colours.error : this.#colours.paper;
    context.stroke();
    this.#drawFacing(context, body, x, y, radius, is_selected);
    context.textAlign = "center";
    context.textBaseline = "middle";
    if (tile >= named_from) {
      context.font = `700 ${Math.round(radius * 1.2)}px ${this.#font}`;
      context.fillStyle = this.#colours.paper;
      context.fillText(body.has_error ? "!" : body.state === "user" ? "@" : glyphs[body.state], x, y + 0.5);
    }
  }

  /// A nose on the side to which it faces.
  #drawFacing(context: CanvasRenderingContext2D, body: Body, x: number, y: number, radius: number, is_selected: boolean): void {
    const [dx, dy] = ({ down: [0, 1], left: [-1, 0], right: [1, 0], up: [0, -1] } as const)[body.direction];
    context.beginPath();
    context.moveTo(x + dx * radius * 1.45, y + dy * radius * 1.45);
    context.lineTo(x + dx * radius * 0.9 - dy * radius * 0.5, y + dy * radius * 0.9 + dx * radius * 0.5);
    context.lineTo(x + dx * radius * 0.9 + dy * radius * 0.5, y + dy * radius * 0.9 - dx * radius * 0.5);
    context.closePath();
    context.fillStyle = is_selected ? this.#colours.ink : this.#colours[body.state];
    context.fill();
  }

  /// Names and bubbles, each where it covers nothing else.
  #drawLabels(context: CanvasRenderingContext2D, selected: string | null, width: number, height: number): void {
    const tile = this.#tile, radius = tile * disc_part, { bodies, bubbles } = this.#scene;
    const nameFont = (body: Body) => `${body.id === selected ? 700 : 500} 11px ${this.#font}`;
    const at = ({ x, y }: Tile) => ({ x: (x + 0.5) * tile, y: (y + 0.5) * tile, radius });
    const discs = bodies.map((body) => {
      const is_chosen = body.id === selected;
      context.font = nameFont(body);
      return { ...at(body), name_width: tile >= named_from || is_chosen ? context.measureText(body.name).width : 0, is_chosen, is_walking: body.is_walking };
    });
    context.font = bubbleFont(this.#font);
    const widest = Math.min(170, width * 0.4);
    const texts = bubbles.map((bubble) => wrap(bubble.text, widest, (text) => context.measureText(text).width));
    const speeches = bubbles.map((bubble, i) => ({ ...at(bubble), width: Math.max(0, ...texts[i]!.map((line) => context.measureText(line).width)) + 2 * bubble_room, height: texts[i]!.length * line_height + bubble_room }));
    const placed = placeLabels(discs, speeches, width, height);
    bodies.forEach((body, i) => {
      const box = placed.names[i];
      if (!box) return;
      context.font = nameFont(body);
      context.textAlign = "left";
      context.textBaseline = "middle";
      context.lineWidth = 3;
      context.strokeStyle = this.#colours.floor;
      context.strokeText(body.name, box.left, box.top + name_height / 2);
      context.fillStyle = this.#colours.ink;
      context.fillText(body.name, box.left, box.top + name_height / 2);
    });
    placed.bubbles.forEach((box, i) => { if (box) this.#drawBubble(context, bubbles[i]!, texts[i]!, box, at(bubbles[i]!)); });
  }

  #drawBubble(context: CanvasRenderingContext2D, bubble: Spoken, lines: string[], { left, top, width: across, height: down }: Box, speaker: { x: number; y: number; radius: number }): void {
    context.globalAlpha = bubble.opacity;
    context.fillStyle = this.#colours.paper;
    context.strokeStyle = this.#colours.soft;
    context.lineWidth = 1;
    context.beginPath();
    context.roundRect(left, top, across, down, 6);
    context.fill();
    context.stroke();
    // A tail from its edge to whoever says it.
    const x = Math.max(left + 10, Math.min(left + across - 10, speaker.x)), y = Math.max(top + 8, Math.min(top + down - 8, speaker.y));
    const is_upright = speaker.y < top || speaker.y > top + down;
    const [base_x, base_y] = is_upright ? [x, speaker.y < top ? top : top + down] : [speaker.x < left ? left : left + across, y];
    const far = Math.hypot(speaker.x - base_x, speaker.y - base_y) || 1;
    const tip_x = speaker.x + ((base_x - speaker.x) / far) * (speaker.radius + 1), tip_y = speaker.y + ((base_y - speaker.y) / far) * (speaker.radius + 1);
    context.beginPath();
    context.moveTo(base_x - (is_upright ? 4 : 0), base_y - (is_upright ? 0 : 4));
    context.lineTo(tip_x, tip_y);
    context.lineTo(base_x + (is_upright ? 4 : 0), base_y + (is_upright ? 0 : 4));
    context.fill();
    context.stroke();
    context.font = bubbleFont(this.#font);
    context.fillStyle = this.#colours.ink;
    context.textAlign = "left";
    context.textBaseline = "middle";
    lines.forEach((line, i) => context.fillText(line, left + bubble_room, top + bubble_room / 2 + (i + 0.5) * line_height));
    context.globalAlpha = 1;
  }
}
