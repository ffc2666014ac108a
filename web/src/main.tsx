import { render } from "preact";
import { takeToken } from "./api.ts";
import { link } from "./connection.ts";
import { start } from "./model.ts";
import { Events } from "./view/events.tsx";
import { Inbox } from "./view/inbox.tsx";
import { RunList } from "./view/run_list.tsx";
import { RunPane } from "./view/run_pane.tsx";
import { TopBar } from "./view/top_bar.tsx";

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
  return (
    <div class="page">
      <TopBar />
      <RunList />
      <main class="main"><RunPane /></main>
      <aside class="rail"><Inbox /><Events /></aside>
    </div>
  );
}

takeToken();
render(<App />, document.getElementById("app")!);
start();
