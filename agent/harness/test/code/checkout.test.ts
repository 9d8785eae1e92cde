/**
 * Worktrees of runs, created by a real git in a real sandbox. The repository is in the workspace, where
 * sandboxes see it.
 */
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { execFileSync, spawn } from 'node:child_process'
import { expect, test } from 'vitest'
import { branchOf, checkoutIn, checkOut } from '../../src/capabilities/code/checkout.ts'
import { COMMAND_PATH } from '@cairn/sandbox'
import { sandboxed } from '@cairn/sandbox/test/providers'
import { makeFolder } from '../tools/tool-context.ts'
import { git } from './git-server.ts'

const provider = await sandboxed()
const ENV = {
  PATH: COMMAND_PATH,
  HOME: '/tmp',
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.directory',
  GIT_CONFIG_VALUE_0: '*',
}

function stage({ isEmpty = false } = {}) {
  const workspace = makeFolder('checkout')
  const url = join(workspace, 'upstream.git')
  execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', url])
  const first = join(workspace, 'first')
  execFileSync('git', ['clone', '--quiet', url, first], { stdio: 'ignore' })
  const commit = (text: string): void => {
    writeFileSync(join(first, 'page.txt'), text)
    git(first, 'add', '.')
    git(first, 'commit', '--quiet', '-m', text)
    git(first, 'push', '--quiet', 'origin', 'HEAD:main')
  }
  if (!isEmpty) commit('one')
  const open = () =>
    provider.open({ id: 'checkout', workspace, env: ENV, network: 'none', mayGrowFiles: true })
  const take = async (run_id: string): Promise<string> => {
    const branch = branchOf(run_id)
    await checkOut(open(), { repo: 'site', url, branch }, new AbortController().signal)
    return checkoutIn(workspace, 'site', branch)
  }
  return { workspace, commit, take }
}

const told = (tree: string) => ({
  branch: git(tree, 'branch', '--show-current'),
  page: readFileSync(join(tree, 'page.txt'), 'utf8'),
  changed: git(tree, 'status', '--porcelain'),
})

/** Promise 14.18: Each run in a repository has its own worktree and branch. */
test('parallel runs share one clone, and each has a worktree on its own branch', async () => {
  const { workspace, take } = stage()
  const ids = ['aaaaaaaa-1', 'bbbbbbbb-2', 'cccccccc-3']
  const trees = await Promise.all(ids.map(take))
  for (const [at, tree] of trees.entries()) {
    expect(told(tree)).toEqual({ branch: branchOf(ids[at]!), page: 'one', changed: '' })
    writeFileSync(join(tree, 'page.txt'), `of ${at}`)
    git(tree, 'commit', '--quiet', '-am', `by ${at}`)
  }
  expect(trees.map(tree => git(tree, 'log', '--format=%s', '-1'))).toEqual(['by 0', 'by 1', 'by 2'])
  expect(readdirSync(join(workspace, 'repos/site')).toSorted()).toEqual([
    '.clone',
    'aaaaaaaa',
    'bbbbbbbb',
    'cccccccc',
  ])
})

test('a run waits while another creates its worktree, which git writes in several steps', async () => {
  const { workspace, take } = stage()
  const site = join(workspace, 'repos/site')
  await take('aaaaaaaa')
  const other = spawn('flock', [site, 'cat'], { stdio: ['pipe', 'ignore', 'inherit'] })
  const isLocked = (by: RegExp): boolean =>
    readFileSync('/proc/locks', 'utf8')
      .split('\n')
      .some(line => by.test(line) && line.includes(`:${statSync(site).ino} `))
  await expect.poll(() => isLocked(/ FLOCK /)).toBe(true)
  // What `git worktree add` has written at first; until it ends, git cannot fetch.
  const unfinished = join(site, '.clone/.git/worktrees/unfinished')
  mkdirSync(unfinished)
  writeFileSync(join(unfinished, 'HEAD'), `${'0'.repeat(40)}\n`)
  writeFileSync(join(unfinished, 'commondir'), '../..\n')
  writeFileSync(join(unfinished, 'gitdir'), `${site}/unfinished/.git\n`)
  const taken = take('bbbbbbbb')
  await expect.poll(() => isLocked(/-> FLOCK /)).toBe(true)
  rmSync(unfinished, { recursive: true })
  other.stdin.end()
  expect(told(await taken).branch).toBe('cairn/bbbbbbbb')
})

test('changes that a run left do not affect another run, and the same run finds them again', async () => {
  const { commit, take } = stage()
  const left = await take('aaaaaaaa')
  writeFileSync(join(left, 'page.txt'), 'in no commit')
  commit('two')
  expect(told(await take('bbbbbbbb'))).toEqual({ branch: 'cairn/bbbbbbbb', page: 'two', changed: '' })
  expect(await take('aaaaaaaa')).toBe(left)
  expect(told(left)).toEqual({ branch: 'cairn/aaaaaaaa', page: 'in no commit', changed: 'M page.txt' })
})

test('recreates an incomplete or removed worktree with the commits of its branch', async () => {
  const { workspace, take } = stage()
  const tree = await take('aaaaaaaa')
  git(tree, 'commit', '--quiet', '--allow-empty', '-m', 'mine')
  rmSync(tree, { recursive: true })
  await take('aaaaaaaa')
  expect([git(tree, 'log', '--format=%s', '-1'), told(tree).page]).toEqual(['mine', 'one'])
  rmSync(join(workspace, 'repos/site/.clone/.git/worktrees/aaaaaaaa/ready'))
  rmSync(join(tree, 'page.txt'))
  await take('aaaaaaaa')
  expect(told(tree)).toEqual({ branch: 'cairn/aaaaaaaa', page: 'one', changed: '' })
})

test('a copied workspace has its worktrees in the copy', async () => {
  const { workspace, take } = stage()
  const tree = await take('aaaaaaaa')
  const copy = makeFolder('checkout-copy')
  cpSync(workspace, copy, { recursive: true, verbatimSymlinks: true })
  rmSync(workspace, { recursive: true })
  expect(existsSync(tree)).toBe(false)
  const copied = checkoutIn(copy, 'site', 'cairn/aaaaaaaa')
  git(copied, 'commit', '--quiet', '--allow-empty', '-m', 'in the copy')
  expect(git(join(copy, 'repos/site/.clone'), 'log', '--format=%s', '-1', 'cairn/aaaaaaaa')).toBe(
    'in the copy',
  )
})

const DAY_MS = 86_400_000
/** Ages a worktree as if unused for that many days. */
function rest(workspace: string, run: string, days: number): void {
  const known = join(workspace, 'repos/site/.clone/.git/worktrees', run)
  const then = new Date(Date.now() - days * DAY_MS)
  for (const path of ['', ...readdirSync(known, { recursive: true, encoding: 'utf8' })])
    utimesSync(join(known, path), then, then)
}
const isThere = (workspace: string, run: string) => ({
  tree: existsSync(join(workspace, 'repos/site', run)),
  known: existsSync(join(workspace, 'repos/site/.clone/.git/worktrees', run)),
})
/** Changes a worktree that was last used eight days ago. The name is what its removal would lose. */
const HELD: Readonly<Record<string, (tree: string, known: string) => void>> = {
  'a change': tree => writeFileSync(join(tree, 'page.txt'), 'changed'),
  'a new file': tree => writeFileSync(join(tree, 'new.txt'), 'new'),
  'a file that git ignores': tree => {
    appendFileSync(join(tree, '../.clone/.git/info/exclude'), '.env\n')
    writeFileSync(join(tree, '.env'), 'KEY=1')
  },
  'a commit of no branch': tree => {
    git(tree, 'switch', '--quiet', '--detach')
    git(tree, 'commit', '--quiet', '--allow-empty', '-m', 'of no branch')
  },
  'a merge that is not over': (tree, known) => {
    writeFileSync(join(known, 'MERGE_HEAD'), git(tree, 'rev-parse', 'HEAD'))
  },
  'a clone of somebody’s in its place': tree => {
    rmSync(tree, { recursive: true })
    execFileSync('git', ['clone', '--quiet', join(tree, '../.clone'), tree], { stdio: 'ignore' })
  },
}

test('the next run removes a worktree that was unused for a week, and its branch keeps the commits', async () => {
  const { workspace, take } = stage()
  const tree = await take('aaaaaaaa')
  git(tree, 'commit', '--quiet', '--allow-empty', '-m', 'mine')
  // Files that tools can recreate are not a loss.
  appendFileSync(join(workspace, 'repos/site/.clone/.git/info/exclude'), 'node_modules\n')
  mkdirSync(join(tree, 'web/node_modules/left'), { recursive: true })
  writeFileSync(join(tree, 'web/node_modules/left/index.js'), '')
  await take('cccccccc')
  rmSync(join(workspace, 'repos/site/cccccccc'), { recursive: true })
  rest(workspace, 'aaaaaaaa', 6)
  rest(workspace, 'cccccccc', 8)
  await take('bbbbbbbb')
  expect(isThere(workspace, 'aaaaaaaa')).toEqual({ tree: true, known: true })
  expect(isThere(workspace, 'cccccccc'), 'somebody removed it').toEqual({ tree: false, known: false })
  rest(workspace, 'aaaaaaaa', 8)
  await take('dddddddd')
  expect(isThere(workspace, 'aaaaaaaa')).toEqual({ tree: false, known: false })
  expect(isThere(workspace, 'bbbbbbbb')).toEqual({ tree: true, known: true })
  await take('aaaaaaaa')
  expect(git(tree, 'log', '--format=%s', '-1')).toBe('mine')
})

/**
 * Promise 14.18: A finished run's worktree is removed after a week, unless it has work outside a branch's
 * commits.
 */
test.each(Object.keys(HELD))('keeps a worktree with %s, however long it was unused', async held => {
  const { workspace, take } = stage()
  const tree = await take('aaaaaaaa')
  HELD[held]!(tree, join(workspace, 'repos/site/.clone/.git/worktrees/aaaaaaaa'))
  rest(workspace, 'aaaaaaaa', 8)
  await take('bbbbbbbb')
  expect(isThere(workspace, 'aaaaaaaa')).toEqual({ tree: true, known: true })
})

test('a worktree that its run reopened is in use', async () => {
  const { workspace, take } = stage()
  await take('aaaaaaaa')
  rest(workspace, 'aaaaaaaa', 8)
  await take('aaaaaaaa')
  await take('bbbbbbbb')
  expect(isThere(workspace, 'aaaaaaaa')).toEqual({ tree: true, known: true })
})

test('reports a repository without a commit, and a clone that Cairn did not create', async () => {
  await expect(stage({ isEmpty: true }).take('aaaaaaaa')).rejects.toThrow(
    /^the repository site could not be checked out: [^]*it has no default branch with a commit$/,
  )
  const { workspace, take } = stage()
  cpSync(join(workspace, 'first'), join(workspace, 'repos/site'), { recursive: true })
  await expect(take('aaaaaaaa')).rejects.toThrow('repos/site is a clone that Cairn did not create')
})
