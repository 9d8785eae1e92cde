import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  defaultWorkspacesDir,
  findWorkspacesDir,
  prepareWorkspaces,
  workspacesDirOf,
  workspacesDirProblem,
} from './workspaces-dir.ts'

function makeFolder(parent = tmpdir()): string {
  const path = realpathSync(mkdtempSync(join(parent, 'cairn-roots-')))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

/** A data directory of an older release, with the workspaces of two sessions in it. */
function makeOld(): { dir: string; data: string; old: string } {
  const dir = makeFolder()
  const data = join(dir, 'data')
  const old = join(data, 'workspaces')
  for (const id of ['one', 'two']) {
    mkdirSync(join(old, id), { recursive: true })
    writeFileSync(join(old, id, 'note.txt'), id)
  }
  return { dir, data, old }
}

test('CAIRN_WORKSPACES overrides the configuration, relative to its file, which overrides the default', () => {
  const env = { CAIRN_DATA: '/srv/a' }
  expect(workspacesDirOf({ ...env, CAIRN_WORKSPACES: '/ws' }, './mine', '/etc/cairn')).toBe('/ws')
  expect(workspacesDirOf({ ...env, CAIRN_WORKSPACES: '' }, './mine', '/etc/cairn')).toBe('/etc/cairn/mine')
  expect(workspacesDirOf(env, undefined, '/etc/cairn')).toBe('/srv/a-workspaces')
  expect(workspacesDirOf({}, undefined, '/etc/cairn')).toBe(join(process.cwd(), 'workspaces'))
})

test('a command reads it from the configuration without the API keys that the service needs', () => {
  const dir = makeFolder()
  const file = join(dir, 'cairn.yaml')
  writeFileSync(
    file,
    'workspaces: ./ws\nmodels:\n  default: o/x\n  providers: {o: {kind: openai, api_key_env: ' +
      'NOT_SET_HERE}}\n',
  )
  expect(findWorkspacesDir({ CAIRN_CONFIG: file })).toBe(join(dir, 'ws'))
})

test('data directories of the same folder have different defaults', () => {
  const names = ['data', 'data2', 'workspaces', 'data-workspaces', 'a']
  const all = names.flatMap(name => [`/srv/${name}`, defaultWorkspacesDir(`/srv/${name}`)])
  // Except for one that itself has the default name: it is detected as a server's data directory, see below.
  expect(all.length - new Set(all).size).toBe(1)
  expect(defaultWorkspacesDir('/srv/data')).toBe('/srv/workspaces')
})

/** Promise 12: Workspaces are separate from the server's keys and database, even through links. */
test('the two directories must be separate, even through links', () => {
  const dir = makeFolder()
  const data = join(dir, 'data')
  mkdirSync(data)
  symlinkSync(data, join(dir, 'alias'))
  const apart = /must be separate/
  for (const workspaces of [data, join(data, 'workspaces'), join(dir, 'alias/deep/er'), dir, dirname(dir)])
    expect(workspacesDirProblem(data, workspaces), workspaces).toMatch(apart)
  expect(workspacesDirProblem(data, join(dir, 'data-not'))).toBeNull()
  expect(workspacesDirProblem(join(dir, 'new'), join(dir, 'newer'))).toBeNull()
})

test('rejects the data directory of another server for workspaces', () => {
  const dir = makeFolder()
  mkdirSync(join(dir, 'workspaces'))
  writeFileSync(join(dir, 'workspaces/auth-key.json'), '{}')
  expect(() => prepareWorkspaces(join(dir, 'data'), join(dir, 'workspaces'))).toThrow(
    /is the data directory of a server \(it contains auth-key\.json\): set CAIRN_WORKSPACES to another directory/,
  )
})

/** Promise 12: Workspaces of an older server are moved at start without loss. */
test('moves workspaces from the old folder once and reports it', () => {
  const { dir, data, old } = makeOld()
  const said: unknown[] = []
  const prepare = () =>
    prepareWorkspaces(data, join(dir, 'workspaces'), (...line) => {
      said.push(line)
    })
  prepare()
  prepare()
  expect(readFileSync(join(dir, 'workspaces/two/note.txt'), 'utf8')).toBe('two')
  expect(existsSync(old)).toBe(false)
  expect(said).toEqual([
    ['info', 'the workspaces were moved', { from: old, to: join(dir, 'workspaces'), count: 2 }],
  ])
  expect(statSync(join(dir, 'workspaces')).mode & 0o077).toBe(0)
})

test('resumes an interrupted move', () => {
  const { dir, data, old } = makeOld()
  mkdirSync(join(dir, 'workspaces'))
  mkdirSync(join(dir, 'workspaces/one'))
  prepareWorkspaces(data, join(dir, 'workspaces'))
  expect(readdirSync(join(dir, 'workspaces')).toSorted()).toEqual(['one', 'two'])
  expect(readFileSync(join(dir, 'workspaces/one/note.txt'), 'utf8')).toBe('one')
  expect(existsSync(old)).toBe(false)
})

test('if both folders have files of a session, all are kept and the start reports the session', () => {
  const { dir, data, old } = makeOld()
  mkdirSync(join(dir, 'workspaces/one'), { recursive: true })
  writeFileSync(join(dir, 'workspaces/one/note.txt'), 'newer')
  expect(() => prepareWorkspaces(data, join(dir, 'workspaces'))).toThrow(
    `${join(old, 'one')} cannot be moved to ${join(dir, 'workspaces/one')}, which already exists`,
  )
  expect(readFileSync(join(dir, 'workspaces/one/note.txt'), 'utf8')).toBe('newer')
  expect(readFileSync(join(old, 'one/note.txt'), 'utf8')).toBe('one')
})

test('does not move an old folder that is a link, and the start reports what to set', () => {
  const dir = makeFolder()
  mkdirSync(join(dir, 'data'))
  mkdirSync(join(dir, 'big-disk'))
  symlinkSync(join(dir, 'big-disk'), join(dir, 'data/workspaces'))
  expect(() => prepareWorkspaces(join(dir, 'data'), join(dir, 'workspaces'))).toThrow(
    `is a link: set CAIRN_WORKSPACES to ${join(dir, 'big-disk')} and remove the link`,
  )
})

// A second file system that every Linux has. Without one there is nothing to reject.
const isOtherDisk = existsSync('/dev/shm') && statSync('/dev/shm').dev !== statSync(tmpdir()).dev

test.each(isOtherDisk ? [['/dev/shm']] : [])(
  'does not copy files on %s to another disk: the start reports what to do',
  disk => {
    const { data, old } = makeOld()
    const other = join(makeFolder(disk), 'workspaces')
    expect(() => prepareWorkspaces(data, other)).toThrow(
      `which is on another disk: stop every server on this data directory and run mv ${old}/* ${other}/`,
    )
    expect(readFileSync(join(old, 'one/note.txt'), 'utf8')).toBe('one')
  },
)
