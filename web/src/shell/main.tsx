import { render } from "preact";
import { CallFailed, enter, tokenOfTab } from "../base/api.ts";
import { answerOtherTabs, codeOfOtherTab } from "../base/other_tabs.ts";
import { startClock } from "../base/clock.ts";
import { link } from "../base/connection.ts";
import { view, type View } from "../base/views.ts";
import { DefinitionsSheet } from "../crew/definitions_sheet.tsx";
import { Handoffs } from "../handoffs/handoffs.tsx";
import { Inbox } from "../inbox/inbox.tsx";
import { startNotifications } from "../inbox/notifications.tsx";
import { Locks } from "../locks/locks.tsx";
import { Inspector } from "../roster/inspector.tsx";
import { CrewList, LiveAgentList } from "../roster/member_list.tsx";
import { startRoster } from "../roster/model.ts";
import { startRuns } from "../runs/model.ts";
import { Board } from "../work/board.tsx";
import { startWorld } from "../world/model.ts";
import { WorldPane } from "../world/world_pane.tsx";
import { startDaemon } from "./daemon.ts";
import { Events } from "./events.tsx";
import { openAsker, startKeys, startNavigation } from "./navigation.ts";
import { startStream } from "./stream.ts";
import { TopBar } from "./top_bar.tsx";
import { Troubles } from "./troubles.tsx";

const shown = { crew: Inspector, board: Board, locks: Locks, handoffs: Handoffs, world: WorldPane, definitions: DefinitionsSheet };
const lists: { [name in View]?: typeof CrewList } = { crew: CrewList, world: LiveAgentList };

function Refused({ why }: { why: string }) {
  return (
    <main class="empty is-whole">
      <h1>{why}</h1>
      <p>Run this command in a terminal in the project. It prints a link that opens this page.</p>
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
      <aside class="rail"><Inbox openAsker={openAsker} /><Events /></aside>
      <Troubles />
    </div>
  );
}

render(<App />, document.getElementById("app")!);
const entering = enter(codeOfOtherTab);  // takes the code out of the address before a key can change that
startKeys();
try {
  await entering;
} catch (error) {
  // A tab that has a key already stays in.
  if (!tokenOfTab()) link.value = { kind: "refused", why: error instanceof CallFailed && error.status === 404 ? "This link has expired." : String(error) };
}
answerOtherTabs();
startNavigation();
startClock();
startRuns();
startRoster();
startWorld();
startStream();
startNotifications();
startDaemon();
