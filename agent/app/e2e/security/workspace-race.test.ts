/**
 * An attack by a user: a command of the agent, sandboxed if the machine has a sandbox, swaps a folder of its
 * workspace for a link to the server's keys while the same user requests files over HTTP.
 */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { rounds, tally } from '@cairn/protocol/test/attacks'
import { buildSwapper, SWAPPER_PLACES } from '@cairn/workspace/test/swapper'
import { localToken } from '../../src/local/local-admin.ts'
import { makePlace, startServer } from '../server.ts'
import { endsTurn, isType, newSession, say, waitFor } from '../session.ts'

const SECONDS = rounds(3, 60)
const LANES = 5
/** Without renameat2, neither exists for a moment, which is still an attack. */
const IN_SHELL = 'while :; do mv -T d t; mv -T s d; mv -T t s; done'
const quoted = (names: readonly string[]): string => names.map(name => `'${name}'`).join(' ')

const scenario = (command: string) => ({
  rules: [
    { when: { step: 0 }, answer: { tool_calls: [{ name: 'terminal', arguments: { command } }] } },
    { answer: { text: 'Done.' } },
  ],
})

/** Promise 4: A user whose terminal command swaps folders for links gets no server key. */
test('a user whose command swaps a folder for a link to the data directory gets no key or listing of it', async () => {
  const command = `timeout ${SECONDS} sh -c "./swap ${quoted(['d', 's'])}"; true`
  const boxed = SWAPPER_PLACES.some(([, inBox]) => inBox)
  const config = boxed ? {} : { sandbox: { terminal: 'unboxed', network: 'open' } }
  const place = makePlace({ scenario: scenario(command), config })
  const server = await startServer(place)
  const id = await newSession(server.client)
  const workspace = join(place.workspaces, id)
  mkdirSync(join(workspace, 'd'), { recursive: true })
  writeFileSync(join(workspace, 'd/auth-key.json'), 'harmless')
  symlinkSync('../../data', join(workspace, 's'))
  if (buildSwapper(workspace).language !== 'C')
    writeFileSync(join(workspace, 'swap'), `#!/bin/sh\n${IN_SHELL}\n`, { mode: 0o755 })
  const key = JSON.parse(readFileSync(join(place.dataDir, 'auth-key.json'), 'utf8')) as { d: string }
  const headers = { authorization: `Bearer ${await localToken(place.dataDir)}` }
  const ask = async (path: string): Promise<string> =>
    (await fetch(`${server.url}/v1/sessions/${id}/workspace/${path}`, { headers })).text()

  const after = await say(server.client, id, 'go')
  await waitFor(server.client, id, after, isType('tool.call'))
  const count = { files: 0, harmless: 0, trees: 0, leaked: 0 }
  const over = new AbortController()
  const keepAsking = async (path: string, heard: (answer: string) => void): Promise<void> => {
    while (!over.signal.aborted) {
      const answer = await ask(path)
      if (answer.includes(key.d) || answer.includes('cairn.db')) count.leaked += 1
      heard(answer)
    }
  }
  const lanes = Array.from({ length: LANES }, () =>
    keepAsking('file?path=d/auth-key.json', answer => {
      count.files += 1
      if (answer.includes('harmless')) count.harmless += 1
    }),
  )
  lanes.push(keepAsking('tree', () => void (count.trees += 1)))
  const { data } = await waitFor(server.client, id, after, isType('tool.result')).finally(() => over.abort())
  await Promise.all(lanes)
  await waitFor(server.client, id, after, endsTurn)
  tally(
    `workspace routes beside the terminal, ${boxed ? 'boxed' : 'unboxed'}`,
    count.files + count.trees,
    count.leaked,
  )
  expect(count.leaked).toBe(0)
  // Control: the command did swap, because the file existed at some times and not at others.
  expect(data.content).toContain('"exit_code":0')
  expect(count.harmless).toBeGreaterThan(0)
  expect(count.harmless).toBeLessThan(count.files)
})
