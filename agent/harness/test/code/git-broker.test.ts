/** The repository of a run behind the broker, with a real git client and git's own server. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { createGitBroker, type Push, type PushVerdict } from '../../src/capabilities/code/git-broker.ts'
import { makeFolder } from '../tools/tool-context.ts'
import { git, startGitServer } from './git-server.ts'

const TOKEN = ['ghp', 'token', 'of', 'the', 'repository'].join('_')
const run = promisify(execFile)
const TRACE = { GIT_TRACE_CURL: '1', GIT_TRACE_CURL_NO_DATA: '1' }

async function stage(verdict: PushVerdict = 'allow') {
  const server = await startGitServer({ user: 'x-access-token', token: TOKEN })
  const pushes: Push[] = []
  const broker = createGitBroker({
    repo: 'site',
    url: server.url,
    login: { user: 'x-access-token', token: TOKEN },
    fetch: globalThis.fetch,
    judge: push => {
      pushes.push(push)
      return Promise.resolve(verdict)
    },
  })
  const door = createServer(broker.handle).listen(0, '127.0.0.1')
  await once(door, 'listening')
  onTestFinished(() => {
    door.closeAllConnections()
    door.close()
  })
  const origin = `http://127.0.0.1:${(door.address() as AddressInfo).port}`
  const folder = makeFolder('git-broker')
  const env = { PATH: process.env['PATH'], HOME: folder, GIT_TERMINAL_PROMPT: '0', ...TRACE }
  const said: string[] = []
  /** Runs as in a sandbox, without blocking this process. Its trace has every header that it sent. */
  const inBox = async (cwd: string, ...args: string[]): Promise<string> => {
    const author = ['-c', 'user.name=Agent', '-c', 'user.email=a@example.org']
    const { stdout, stderr } = await run('git', ['-C', cwd, ...author, ...args], { env }).catch(
      (failed: { stdout: string; stderr: string }) => {
        said.push(failed.stderr)
        throw new Error(failed.stderr.replaceAll(/^.*http\.c.*$/gm, '').trim())
      },
    )
    said.push(stderr)
    return stdout.trim()
  }
  const clone = join(folder, 'site')
  await inBox(folder, 'clone', `${origin}/_cairn/git/site`, clone)
  await inBox(clone, 'switch', '-c', 'cairn/1')
  return { server, broker, pushes, origin, clone, inBox, said }
}

/** Promise 14.12: A repository token is sent only to the repository's server and follows no redirect. */
test('git clones, fetches and pushes, and the token goes only to the server of the repository', async () => {
  const { server, pushes, clone, inBox, said } = await stage()
  writeFileSync(join(clone, 'page.txt'), 'made')
  await inBox(clone, 'add', '.')
  await inBox(clone, 'commit', '-m', 'a page')
  await inBox(clone, 'push', 'origin', 'cairn/1')
  await inBox(clone, 'fetch', 'origin')
  expect(git(server.folder, 'show', 'cairn/1:page.txt')).toBe('made')
  expect(pushes).toEqual([
    {
      repo: 'site',
      updates: [
        { ref: 'refs/heads/cairn/1', old: '0'.repeat(40), new: git(server.folder, 'rev-parse', 'cairn/1') },
      ],
    },
  ])
  expect(server.asked.every(({ isLoggedIn }) => isLoggedIn)).toBe(true)
  expect(said.join('') + readFileSync(join(clone, '.git/config'), 'utf8')).not.toContain(TOKEN)
})

test('checks a push that is too large for one piece once, and delivers it', async () => {
  const { server, pushes, clone, inBox } = await stage()
  const large = randomBytes(3 * 2 ** 20)
  writeFileSync(join(clone, 'large'), large)
  await inBox(clone, 'add', '.')
  await inBox(clone, 'commit', '-m', 'large')
  await inBox(clone, 'push', 'origin', 'cairn/1')
  expect(pushes).toHaveLength(1)
  expect(git(server.folder, 'cat-file', '-s', 'cairn/1:large')).toBe(String(large.length))
})

/** Promise 14.18: A push without approval changes nothing, and git prints the reason. */
test.each(['reject', 'cancelled'] as const)(
  'a push with the answer %s changes nothing, and git prints the reason',
  async verdict => {
    const { server, pushes, clone, inBox } = await stage(verdict)
    await inBox(clone, 'commit', '--allow-empty', '-m', 'no')
    const push = inBox(clone, 'push', 'origin', 'cairn/1', 'cairn/1:main')
    await expect(push).rejects.toThrow(/\[remote rejected\].*\((rejected by the policy|the run is)/)
    expect(pushes).toHaveLength(1)
    expect(pushes[0]!.updates.map(({ ref }) => ref).toSorted()).toEqual([
      'refs/heads/cairn/1',
      'refs/heads/main',
    ])
    expect(git(server.folder, 'log', '--all', '--format=%s')).toBe('the first')
    expect(server.asked.map(({ line }) => line)).not.toContain('POST /site.git/git-receive-pack')
  },
)

test.each(['allow', 'reject'] as const)(
  'checks the deletion of a branch like any other update: %s',
  async verdict => {
    const { server, pushes, clone, inBox } = await stage(verdict)
    // A branch that git itself allows to delete, unlike `main`.
    git(server.folder, 'branch', 'old', 'main')
    const push = inBox(clone, 'push', 'origin', ':old')
    if (verdict === 'reject') await expect(push).rejects.toThrow(/\[remote rejected\].*by the policy/)
    else await push
    const main = git(server.folder, 'rev-parse', 'main')
    expect(pushes.map(({ updates }) => updates)).toEqual([
      [{ ref: 'refs/heads/old', old: main, new: '0'.repeat(40) }],
    ])
    expect(git(server.folder, 'branch', '--list', 'old')).toBe(verdict === 'reject' ? 'old' : '')
  },
)

test.each([
  ['another repository', '/_cairn/git/other/info/refs?service=git-upload-pack'],
  ['one whose name begins alike', '/_cairn/git/site-two/info/refs?service=git-upload-pack'],
  ['a file of it', '/_cairn/git/site/config'],
  ['a way up', '/_cairn/git/site/../../admin'],
  ['a way up, encoded', '/_cairn/git/site/%2e%2e/admin'],
  ['another service', '/_cairn/git/site/info/refs?service=git-upload-archive'],
  ['more than the service', '/_cairn/git/site/info/refs?service=git-upload-pack&x=1'],
])('does not reach %s', async (_, path) => {
  const { server, origin } = await stage()
  server.asked.length = 0
  const { hostname, port } = new URL(origin)
  const { request } = await import('node:http')
  // Sent literally: fetch would normalize the path first.
  const asked = request({ hostname, port, path }).end()
  const [answer] = (await once(asked, 'response')) as [{ statusCode: number; resume(): void }]
  answer.resume()
  expect(answer.statusCode).toBe(404)
  expect(server.asked).toEqual([])
})

test('forwards nothing after an empty push, which needs no approval', async () => {
  const { server, pushes, origin } = await stage()
  const old = git(server.folder, 'rev-parse', 'main')
  const line = `${old} ${'0'.repeat(40)} refs/heads/main\0report-status`
  const body = `0000${(line.length + 4).toString(16).padStart(4, '0')}${line}0000`
  const headers = { 'content-type': 'application/x-git-receive-pack-request' }
  const url = `${origin}/_cairn/git/site/git-receive-pack`
  await (await fetch(url, { method: 'POST', body, headers })).text()
  expect(server.bodies.at(-1)).toBe('0000')
  expect(pushes).toEqual([])
})

test.each([
  ['no lines of git', 'hello, this is no push'],
  ['a signed push', '0015push-cert\0 x     0000'],
  ['a length that is too short', '0003'],
  ['an end in the middle', '00a0'],
  ['a ref that is none', `0076${'0'.repeat(40)} ${'1'.repeat(40)} config file of it\0 report-status0000`],
])('rejects a push with %s', async (_, body) => {
  const { server, pushes, origin } = await stage()
  server.asked.length = 0
  const answered = await fetch(`${origin}/_cairn/git/site/git-receive-pack`, { method: 'POST', body })
  expect(answered.status).toBe(400)
  expect([server.asked, pushes]).toEqual([[], []])
})

test('reports a moved repository and a rejected token, and sends the token nowhere else', async () => {
  const elsewhere = await startGitServer({ user: 'x', token: 'y' })
  const { server, clone, inBox } = await stage()
  server.answerWith = { status: 302, headers: { location: elsewhere.url } }
  await expect(inBox(clone, 'fetch')).rejects.toThrow('has moved')
  server.answerWith = { status: 401, headers: {} }
  await expect(inBox(clone, 'fetch')).rejects.toThrow('rejected the token')
  expect(elsewhere.asked).toEqual([])
})

test('answers no request after the end of the run', async () => {
  const { server, broker, clone, inBox } = await stage()
  broker.close()
  server.asked.length = 0
  await expect(inBox(clone, 'fetch')).rejects.toThrow('502')
  expect(server.asked).toEqual([])
})
