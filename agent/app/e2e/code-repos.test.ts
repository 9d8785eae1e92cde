/**
 * A coding run in a repository: it is cloned in the sandbox, changed by the built-in agent, and pushed by it
 * after a person has approved that push. The repository's token is only at its server.
 */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { git, startGitServer } from '@cairn/harness/test/git-server'
import { makePlace, startService } from './server.ts'
import { endsTurn, isType, newSession, readLog, say, waitFor } from './session.ts'

// Assembled at run time: this file is visible in the sandbox of the built-in agent.
const TOKEN = ['repository', 'token', 'canary', '7310'].join('-')
const WORK =
  'env > env.txt; curl -s http://elsewhere.example/ > way-out.txt; echo made > page.txt; git add page.txt; ' +
  'git commit --quiet -m "a page"; git push origin HEAD > push.txt 2>&1; git log --format=%an%s -1'
const scenario = {
  pace_ms: 0,
  rules: [
    { when: { system: 'You name conversations' }, answer: { text: 'A page' } },
    {
      when: { system: 'You are a coding agent' },
      steps: [
        { tool_calls: [{ name: 'terminal', arguments: { command: WORK } }] },
        { text: 'It is pushed.' },
      ],
    },
    { answer: { text: 'Very well.' } },
  ],
}

/** All files below a folder, without following links. */
const textsBelow = (folder: string): string =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(path => join(folder, path))
    .filter(path => existsSync(path) && statSync(path).isFile())
    .map(path => readFileSync(path, 'latin1'))
    .join('\n')

/**
 * Promise 14.18, 14.12: A coding run clones its repository and pushes after approval, and its token never
 * enters events, files or the sandbox.
 */
test('a coding run clones its repository, pushes what a person approves, and never gets the token', async () => {
  const upstream = await startGitServer({ user: 'x-access-token', token: TOKEN })
  const place = makePlace({
    scenario,
    config: {
      code: { repos: { site: { url: upstream.url, token_env: 'SITE_TOKEN' } } },
      agents: { assistant: { governance: { egress: { default: 'deny' } } } },
    },
  })
  const server = await startService({ ...place, env: { ...place.env, SITE_TOKEN: TOKEN } })
  const { client } = server
  const id = await newSession(client)
  await say(client, id, '/code add a page --repo nowhere')
  const refused = await waitFor(client, id, 0, isType('llm.response'))
  expect(refused.data.message.content).toContain('Unknown repository nowhere. Available: site.')

  const after = await say(client, id, '/code add a page --repo site')
  const gate = await waitFor(client, id, after, isType('inbox.governance_gate'))
  expect(gate.data.tool_name).toBe('code.push')
  const branch = `cairn/${gate.data.run_id!.replaceAll('-', '').slice(0, 8)}`
  const cloneOf = (of: string): string => join(place.workspaces, id, 'repos/site', of.slice('cairn/'.length))
  const clone = cloneOf(branch)
  expect(gate.data.arguments).toEqual({
    repo: 'site',
    updates: [{ ref: `refs/heads/${branch}`, old: '0'.repeat(40), new: git(clone, 'rev-parse', 'HEAD') }],
  })
  expect(git(upstream.folder, 'branch', '--format=%(refname:short)')).toBe('main')
  const { items } = await client.call('listInbox', { query: { status: 'pending' } })
  const [item] = items.filter(({ kind }) => kind === 'governance_gate')
  await client.call('respondInbox', { params: { item_id: item!.id }, body: { decision: 'approve' } })
  const result = await waitFor(client, id, gate.id, isType('code.run_result'))
  expect(result.data).toMatchObject({ error: null, final_message: 'It is pushed.' })
  expect(git(upstream.folder, 'log', '--format=%an: %s', branch)).toBe('Cairn: a page\nTest: the first')

  // All egress passes the proxy, including that of the agent's commands.
  expect(readFileSync(join(clone, 'way-out.txt'), 'utf8')).toContain('elsewhere.example')
  const events = await readLog(client, id)
  expect(checkHistory(events)).toEqual([])
  // The folder of the run is removed after its result. The test does not read it while that happens.
  await expect.poll(() => readdirSync(join(place.dataDir, 'code'))).toEqual([])
  const written = [JSON.stringify(events), server.log(), textsBelow(place.dir)].join('\n')
  expect(upstream.asked.some(({ isLoggedIn }) => isLoggedIn)).toBe(true)
  for (const secret of [TOKEN, Buffer.from(`x-access-token:${TOKEN}`).toString('base64'), 'cairn_run_'])
    expect(written.split(secret).length - 1).toBe(0)

  // A second run, in its own worktree: uncommitted changes of the first run do not affect it.
  writeFileSync(join(clone, 'page.txt'), 'changed, in no commit')
  const again = await say(client, id, '/code and another --repo site')
  const second = await waitFor(client, id, again, isType('inbox.governance_gate'))
  const own = cloneOf(`cairn/${second.data.run_id!.replaceAll('-', '').slice(0, 8)}`)
  expect(git(own, 'log', '--format=%s', 'HEAD')).toBe('a page\nthe first')
  expect(readFileSync(join(clone, 'page.txt'), 'utf8')).toBe('changed, in no commit')
  expect(readFileSync(join(own, 'page.txt'), 'utf8')).toBe('made\n')
  await client.call('stopSession', { params: { id } })
  await waitFor(client, id, second.id, endsTurn)
  expect(git(upstream.folder, 'branch', '--format=%(refname:short)').split('\n')).toHaveLength(2)
})
