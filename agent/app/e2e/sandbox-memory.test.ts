/**
 * Searches for secrets that a sandbox must not have in the environment, the command line, the memory and the
 * open files of every process that the service started, while a command, a browser and a coding agent run.
 * The model provider's key and a browser secret that was not typed yet are in none of them. A run's token is
 * in the processes of its own agent only.
 */
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  statSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { makePlace, startServer } from './server.ts'
import { isType, newSession, PATIENCE_MS, readLog, say, waitFor } from './session.ts'

// Assembled at run time: as one literal they would be in the memory of every process that reads this file.
const KEY = ['provider', 'key', 'canary', '4471'].join('-')
const SECRET = ['browser', 'secret', 'canary', '9083'].join('-')

const call = (name: string, args: object) => ({ tool_calls: [{ name, arguments: args }] })
const scenario = {
  pace_ms: 0,
  rules: [
    { when: { user: '^look' }, steps: [call('browser_snapshot', {}), { text: 'Seen.' }] },
    {
      when: { user: '^wait' },
      steps: [call('terminal', { command: 'echo began > began; sleep 3611' }), { text: 'x' }],
    },
    { answer: { text: 'Very well.' } },
  ],
}

/** A model server with a key. It records the requests, and its answers never end. */
async function startModelServer(): Promise<{ url: string; keys: string[] }> {
  const keys: string[] = []
  const server = createServer((request, response) => {
    keys.push(request.headers.authorization ?? '')
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(': it thinks\n\n')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, keys }
}

type Process = { pid: number; name: string }

function below(pid: number): Process[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap(thread =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
  )
  return children.flatMap(child => {
    try {
      return [{ pid: child, name: readFileSync(`/proc/${child}/comm`, 'latin1').trim() }, ...below(child)]
    } catch {
      // The process has ended.
      return []
    }
  })
}

/**
 * Every readable page of the process's memory, a megabyte at a time. Pieces overlap by the length of the
 * longest leak marker.
 */
function* memoryOf(pid: number): Generator<Buffer> {
  const file = openSync(`/proc/${pid}/mem`, 'r')
  const piece = Buffer.alloc(2 ** 20 + 64)
  try {
    for (const line of readFileSync(`/proc/${pid}/maps`, 'latin1').split('\n')) {
      const [, from = '0', to = '0'] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? []
      for (let at = Number.parseInt(from, 16); at < Number.parseInt(to, 16); at += 2 ** 20) {
        const wanted = Math.min(piece.length, Number.parseInt(to, 16) - at)
        try {
          yield piece.subarray(0, readSync(file, piece, 0, wanted, at))
        } catch {
          // Reserved but never written: there is nothing to read.
        }
      }
    }
  } finally {
    closeSync(file)
  }
}

function knows(pid: number, canary: string): string[] {
  const places: string[] = []
  for (const file of ['environ', 'cmdline'])
    if (readFileSync(`/proc/${pid}/${file}`).includes(canary)) places.push(file)
  for (const page of memoryOf(pid)) if (page.includes(canary)) return [...places, 'memory']
  return places
}

/** The files that the process has open. */
const filesOf = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/fd`).flatMap(fd => {
    try {
      const path = readlinkSync(`/proc/${pid}/fd/${fd}`)
      return path.startsWith('/') && statSync(path).isFile() ? [path] : []
    } catch {
      // Not a file, or a file that exists only in the sandbox.
      return []
    }
  })

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))

/**
 * Promise 14.12, 11.5: No sandboxed process has a provider key, a browser secret or another run's token in
 * its memory.
 */
test('no sandboxed process has a provider key, a browser secret, or the token of another run', async () => {
  const { url, keys } = await startModelServer()
  const place = makePlace({
    scenario,
    config: {
      models: {
        default: 'test/scripted',
        providers: {
          test: { kind: 'scripted', scenario: './scenario.yaml' },
          real: { kind: 'openai', base_url: url, api_key_env: 'REAL_KEY' },
        },
      },
      code: { agents: { cairn: { model: 'real/model' } } },
      browser: { secrets: { crm: { value_env: 'CRM_PASSWORD', origins: ['https://crm.example.org'] } } },
    },
  })
  const server = await startServer({ ...place, env: { ...place.env, REAL_KEY: KEY, CRM_PASSWORD: SECRET } })
  const { client } = server
  const [looks, waits, codes] = [await newSession(client), await newSession(client), await newSession(client)]
  await say(client, looks, 'look')
  await waitFor(client, looks, 0, isType('browser.provisioned'))
  await say(client, waits, 'wait')
  await expect
    .poll(() => existsSync(join(place.workspaces, waits, 'began')), { timeout: PATIENCE_MS })
    .toBe(true)
  await say(client, codes, '/code think about it')
  // The broker replaced the token with the key: the model server received the key and nothing else did.
  await expect.poll(() => keys, { timeout: PATIENCE_MS }).toContain(`Bearer ${KEY}`)

  const processes = below(server.pid)
  for (const name of ['bwrap', 'perl', 'chromium', 'sleep'])
    expect(processes.map(each => each.name)).toContain(name)
  const tokenOf = (pid: number): string =>
    /CAIRN_RUN_TOKEN=([^\0]+)/.exec(readFileSync(`/proc/${pid}/environ`, 'latin1'))?.[1] ?? ''
  const agents = processes.filter(({ pid }) => tokenOf(pid) !== '')
  const token = tokenOf(agents[0]?.pid ?? 0)
  expect(token.length).toBeGreaterThan(20)
  const found = processes.flatMap(({ pid, name }) => [
    ...[KEY, SECRET].flatMap(canary => knows(pid, canary).map(where => `${name}: ${canary} in ${where}`)),
    ...(agents.some(agent => agent.pid === pid)
      ? []
      : knows(pid, token).map(where => `${name}: the token in ${where}`)),
    ...filesOf(pid)
      .filter(file => [KEY, SECRET].some(c => readFileSync(file).includes(c)))
      .map(file => `${name}: ${file}`),
  ])
  expect(found).toEqual([])
  const kept = [...filesBelow(place.dataDir), ...filesBelow(place.workspaces)]
  expect(kept.filter(file => [KEY, SECRET].some(canary => readFileSync(file).includes(canary)))).toEqual([])
  // The search finds a value that is there.
  expect(knows(agents[0]?.pid ?? 0, token)).toContain('memory')
  for (const id of [looks, waits, codes])
    for (const canary of [KEY, SECRET, token])
      expect(JSON.stringify(await readLog(client, id))).not.toContain(canary)
  console.info(`searched the memory of ${processes.length} processes in boxes`)
})
