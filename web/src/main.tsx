import { render } from "preact";
import { takeToken } from "./api.ts";
import { link } from "./connection.ts";
import { start } from "./model.ts";
import { Agents } from "./view/agents.tsx";
import { Board } from "./view/board.tsx";
import { ChatList } from "./view/chat_list.tsx";
import { ChatPane } from "./view/chat_pane.tsx";
import { CrewSheet } from "./view/crew.tsx";
import { Events } from "./view/events.tsx";
import { Handoffs } from "./view/handoffs.tsx";
import { Inbox } from "./view/inbox.tsx";
import { Locks } from "./view/locks.tsx";
import { RunList } from "./view/run_list.tsx";
import { Roster } from "./view/roster.tsx";
import { RunPane } from "./view/run_pane.tsx";
import { TopBar } from "./view/top_bar.tsx";
import { WorldPane } from "./view/world_pane.tsx";
import { view, type View } from "./views.ts";

const shown = { runs: RunPane, board: Board, agents: Agents, locks: Locks, handoffs: Handoffs, chats: ChatPane, crew: CrewSheet, world: WorldPane };
const lists: { [name in View]?: typeof RunList } = { runs: RunList, chats: ChatList, world: Roster };

function Refused({ why }: { why: string }) {
  return (
    <main class="empty is-whole">
      <h1>{why}</h1>
      <p>Open it from a terminal in the project, and the token comes along.</p>
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
      <aside class="rail"><Inbox /><Events /></aside>
    </div>
  );
}

takeToken();
render(<App />, document.getElementById("app")!);
start();
