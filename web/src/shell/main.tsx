import { render } from "preact";
import { takeToken } from "../base/api.ts";
import { startClock } from "../base/clock.ts";
import { link } from "../base/connection.ts";
import { parameterIn, view, type View } from "../base/views.ts";
import { ChatList } from "../crew/chat_list.tsx";
import { ChatPane } from "../crew/chat_pane.tsx";
import { CrewSheet } from "../crew/crew_sheet.tsx";
import { startCrew } from "../crew/model.ts";
import { Handoffs } from "../handoffs/handoffs.tsx";
import { Inbox } from "../inbox/inbox.tsx";
import { questions } from "../inbox/model.ts";
import { Locks } from "../locks/locks.tsx";
import { Roster as Everybody } from "../roster/roster.tsx";
import { openRun, startRuns } from "../runs/model.ts";
import { RunList } from "../runs/run_list.tsx";
import { RunPane } from "../runs/run_pane.tsx";
import { Sessions } from "../sessions/sessions.tsx";
import { Board } from "../work/board.tsx";
import { startWorld } from "../world/model.ts";
import { Roster } from "../world/roster.tsx";
import { WorldPane } from "../world/world_pane.tsx";
import { Events } from "./events.tsx";
import { startNavigation } from "./navigation.ts";
import { startStream } from "./stream.ts";
import { TopBar } from "./top_bar.tsx";
import { startTroubles, Troubles } from "./troubles.tsx";

const shown = { runs: RunPane, board: Board, agents: Sessions, locks: Locks, handoffs: Handoffs, chats: ChatPane, crew: CrewSheet, world: WorldPane, everybody: Everybody };
const lists: { [name in View]?: typeof RunList } = { runs: RunList, chats: ChatList, world: Roster };

function Refused({ why }: { why: string }) {
  return (
    <main class="empty is-whole">
      <h1>{why}</h1>
      <p>Run this command in a terminal in the project. It opens the page with a valid token.</p>
      <pre><code>cru open</code></pre>
    </main>
  );
}

function App() {
  const at = link.value;
  if (at.kind === "refused") return <Refused why={at.why} />;
  const Shown = shown[view.value];
  const List = lists[view.value];
  return (
    <div class={`page is-${view.value} ${List ? "has-list" : ""}`}>
      <TopBar />
      {List && <List />}
      <main class="main" id="main" tabIndex={-1}><Shown /></main>
      <aside class="rail"><Inbox openRun={openRun} /><Events /></aside>
      <Troubles />
    </div>
  );
}

takeToken();
render(<App />, document.getElementById("app")!);
const requested_run = parameterIn(location.hash, "run");
startNavigation();
startClock();
startRuns(requested_run, () => questions.peek()[0]?.task_id);
startCrew();
startWorld();
startStream();
startTroubles();
