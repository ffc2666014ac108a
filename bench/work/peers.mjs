// The work queue's peers, each started in a folder of its own with a unix socket and no port, each with a sync before it
// answers. A peer whose program is missing, or which does not start, has no figures.
import { spawn, spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { findProgram, repository, temporaryFolder, waitFor } from "../harness.mjs";

const nobody = 65534;
/// PostgreSQL refuses to be root. setpriv executes the program in its own place: the pid is the program's.
const asUser = process.getuid() === 0 ? ["setpriv", "--reuid", String(nobody), "--regid", String(nobody), "--clear-groups"] : [];

/// The shorter of a socket's two names, because its address has 108 bytes.
const shorter = (path) => [path, relative(process.cwd(), path)].sort((a, b) => a.length - b.length)[0];

/// Starts a server and waits until it says that it is ready, or until its socket is there if it says nothing. What it says
/// is shown only when it does not start.
async function startServer({ name, argv, folder, socket, ready = null }) {
  const server = spawn(argv[0], argv.slice(1), { cwd: folder, env: { PATH: process.env.PATH, LANG: "C.UTF-8" }, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (text) => { said = (said + text).slice(-2000); });
  const ended = new Promise((resolve) => server.on("close", resolve).on("error", (error) => { said += error.message; resolve(); }));
  let has_ended = false;
  ended.then(() => { has_ended = true; });
  const stop = async () => {
    if (!has_ended) server.kill("SIGINT");
    await ended;
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  try {
    await waitFor(() => has_ended || (ready ? ready.test(said) : existsSync(socket)), { within: 20_000, what: `${name} listens` });
    if (has_ended) throw new Error("it ended");
  } catch (error) {
    await stop();
    console.error(`${name} did not start, and is not measured: ${error.message}\n${said}`);
    return null;
  }
  return { name, socket: shorter(socket), stop };
}

async function startBeanstalkd() {
  const program = findProgram("beanstalkd");
  if (!program) return null;
  const folder = temporaryFolder();
  const socket = join(folder, "b.sock");
  mkdirSync(join(folder, "log"));
  // -f 0: a sync with every write, not one every so many milliseconds.
  return startServer({ name: "beanstalkd -f 0", argv: [program, "-l", "unix:b.sock", "-b", "log", "-f", "0"], folder, socket });
}

async function startRedis() {
  const program = findProgram("redis-server");
  if (!program) return null;
  const folder = temporaryFolder();
  const settings = { port: "0", unixsocket: "r.sock", dir: ".", appendonly: "yes", appendfsync: "always", save: "", daemonize: "no" };
  const argv = [program, ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])];
  return startServer({ name: "Redis, appendfsync always", argv, folder, socket: join(folder, "r.sock"), ready: /ready to accept connections/ });
}

const schema = [
  "CREATE TABLE work (id bigserial PRIMARY KEY, body text NOT NULL, state text NOT NULL DEFAULT 'open', worker text, attempts int NOT NULL DEFAULT 0, created_at timestamptz NOT NULL DEFAULT now(), claimed_at timestamptz, completed_at timestamptz)",
  "CREATE INDEX open_work ON work (id) WHERE state = 'open'",
];

/// Debian's programs are not on the PATH, and initdb must be the server's own.
function findPostgreSql() {
  for (const root of ["/usr/lib/postgresql", join(repository, "build/peers/usr/lib/postgresql")])
    for (const version of existsSync(root) ? readdirSync(root) : []) {
      const postgres = join(root, version, "bin/postgres");
      if (existsSync(postgres)) return postgres;
    }
  return findProgram("postgres");
}

async function startPostgreSql() {
  const postgres = findPostgreSql();
  if (!postgres) return null;
  const folder = temporaryFolder();
  const data = join(folder, "data");
  mkdirSync(data, { mode: 0o700 });
  if (asUser.length) for (const path of [folder, data]) chownSync(path, nobody, nobody);
  const run = (argv, input) => {
    const done = spawnSync(asUser[0] ?? argv[0], asUser.length ? [...asUser.slice(1), ...argv] : argv.slice(1), { cwd: folder, input, encoding: "utf8" });
    if (done.status !== 0) throw new Error(`${argv[0]}: ${done.error?.message ?? done.stderr + done.stdout}`);
  };
  try {
    run([join(dirname(postgres), "initdb"), "-D", data, "-U", "bench", "-A", "trust", "--no-locale", "-E", "UTF8", "-N"]);
    run([postgres, "--single", "-j", "-D", data, "postgres"], schema.map((statement) => `${statement};\n\n`).join(""));
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    console.error(`PostgreSQL did not start, and is not measured: ${error.message}`);
    return null;
  }
  // fsync, synchronous_commit and full_page_writes are on by default; they are named so that this can be read.
  const settings = ["listen_addresses=", "unix_socket_directories=.", "max_connections=150", "fsync=on", "synchronous_commit=on", "full_page_writes=on", "jit=off"];
  const argv = [...asUser, postgres, "-D", data, ...settings.flatMap((setting) => ["-c", setting])];
  return startServer({ name: "PostgreSQL, SKIP LOCKED", argv, folder, socket: join(data, ".s.PGSQL.5432"), ready: /ready to accept connections/ });
}

/// Those that are there, by the name of their protocol in claim_complete.
export async function startPeers() {
  const started = { beanstalkd: await startBeanstalkd(), redis: await startRedis(), postgresql: await startPostgreSql() };
  return Object.fromEntries(Object.entries(started).filter(([, peer]) => peer));
}
