/** Workers in a copy of the workspace, and how their changes are applied. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EventOf, SessionEvent } from '@cairn/protocol'
import { derivedId } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { mergeText } from '../../src/capabilities/coordination/merge-text.ts'
import { restoreCheckpoint } from '../../src/tools/checkpoint.ts'
import { say, setStage, type Stage, type StageOptions } from '../turn/stage.ts'
import { finishWork, goal, OUTCOME, spawn, wait } from './tree-stage.ts'

const write = (path: string, content: string) => ({ name: 'write_file', arguments: { path, content } })
const apply = (more: Record<string, unknown> = {}) => ({
  name: 'apply_worker_files',
  arguments: { worker_id: '{{result_of.spawn_worker.worker_id}}', ...more },
})
const ended = (events: readonly SessionEvent[]): boolean => events.at(-1)?.type === 'session.complete'
const TEXT = 'one\ntwo\nthree\nfour\nfive\n'

const SCENARIO = {
  rules: [
    {
      when: goal('change'),
      steps: [
        { tool_calls: [write('both.txt', `${TEXT}six by the worker\n`), write('new/made.txt', 'made')] },
        finishWork('Done.'),
      ],
    },
    {
      when: { user: '^apply (.+)$', step: 0 },
      answer: { tool_calls: [apply({ on_conflict: '{{user.1}}' })] },
    },
    { when: { user: '^only (.+)$', step: 0 }, answer: { tool_calls: [apply({ paths: ['{{user.1}}'] })] } },
    {
      when: { user: '^share$', step: 0 },
      answer: { tool_calls: [spawn('change it here', { isolation: 'share' }), wait] },
    },
    {
      when: { user: '^go$', step: 0 },
      answer: { tool_calls: [{ ...spawn('change the files'), id: 'the-spawn' }, wait] },
    },
    { when: OUTCOME, answer: say('So be it.') },
    { answer: say('Well.') },
  ],
} satisfies StageOptions['scenario']

type Copied = { stage: Stage; here: string; there: string; copies: () => string[] }
/** A worker has changed its copy and delivered its outcome to its parent. */
async function startCopied(options: Partial<StageOptions> = {}, message = 'go'): Promise<Copied> {
  const stage = await setStage({ limits: { drain_s: 0 }, scenario: SCENARIO, ...options })
  const workspaces = join(stage.dir, 'workspaces')
  const here = join(workspaces, stage.session_id)
  mkdirSync(here, { recursive: true })
  writeFileSync(join(here, 'both.txt'), TEXT)
  writeFileSync(join(here, 'gone.txt'), 'to be removed')
  writeFileSync(join(here, 'lines.txt'), '\nb\n')
  stage.start()
  await stage.send(message)
  await stage.until(ended)
  const [link] = await stage.store.links.children(stage.session_id)
  const there = join(workspaces, link?.child_id ?? '')
  return {
    stage,
    here,
    there,
    copies: () => readdirSync(workspaces).filter(name => name !== stage.session_id),
  }
}
const at = (folder: string, path: string): string | null =>
  existsSync(join(folder, path)) ? readFileSync(join(folder, path), 'utf8') : null

async function ask(stage: Stage, message: string): Promise<Record<string, unknown>> {
  const after = await stage.send(message)
  const events = await stage.until(log => ended(log) && (log.at(-1)?.id ?? 0) > after)
  const result = events.find(
    event => event.type === 'tool.result' && event.id > after,
  ) as EventOf<'tool.result'>
  return JSON.parse(result.data.content) as Record<string, unknown>
}

/** Promise 14.4: A worker in a copy changes no file of its parent, and all changes in the copy are listed. */
test('a worker changes only its copy, all changes in it are listed, and apply_worker_files applies them', async () => {
  const { stage, here, there, copies } = await startCopied()
  await using _ = stage
  expect(copies()).toHaveLength(1)
  expect(at(here, 'both.txt')).toBe(TEXT)
  expect(at(there, 'both.txt')).toContain('six by the worker')
  const outcome = await stage.next('worker.complete')
  expect(outcome.data.files_written).toEqual(['both.txt', 'new/made.txt'])
  expect((await stage.next('worker.spawned')).data.isolation).toBe('copy')
  // Changed here meanwhile in another line, and removed there.
  writeFileSync(join(here, 'both.txt'), TEXT.replace('one', 'ONE'))
  rmSync(join(there, 'gone.txt'))
  expect(await ask(stage, 'apply fail')).toEqual({
    applied: ['both.txt', 'gone.txt', 'new/made.txt'],
    merged: ['both.txt'],
    unchanged: 0,
  })
  expect(at(here, 'both.txt')).toBe('ONE\ntwo\nthree\nfour\nfive\nsix by the worker\n')
  expect([at(here, 'new/made.txt'), at(here, 'gone.txt')]).toEqual(['made', null])
  // A second call changes nothing more.
  expect(await ask(stage, 'apply fail')).toEqual({ applied: [], merged: [], unchanged: 3 })
  // The call has a checkpoint of the earlier contents.
  const call = (await stage.events()).find(
    event => event.type === 'tool.call' && event.data.name === 'apply_worker_files',
  ) as EventOf<'tool.call'>
  const checkpoints = join(stage.dir, 'checkpoints', stage.session_id)
  await restoreCheckpoint(checkpoints, here, call.data.checkpoint_hash ?? '')
  expect(at(here, 'both.txt')).toBe(TEXT.replace('one', 'ONE'))
  expect([at(here, 'new/made.txt'), at(here, 'gone.txt')]).toEqual([null, 'to be removed'])
})

/** Promise 14.4: A merge conflict changes no file unless the caller's `on_conflict` resolves it. */
test('a conflict changes nothing, is listed, and is resolved by on_conflict', async () => {
  const { stage, here, there } = await startCopied()
  await using _ = stage
  writeFileSync(join(there, 'both.txt'), TEXT.replace('two', 'by the worker'))
  writeFileSync(join(here, 'both.txt'), TEXT.replace('two', 'by me'))
  const refused = await ask(stage, 'apply fail')
  expect(refused).toMatchObject({
    error: expect.stringContaining('nothing was applied'),
    conflicts: [{ path: 'both.txt', why: 'both changed the same lines' }],
    applied: [],
  })
  expect(at(here, 'new/made.txt'), 'what is no conflict waits too').toBeNull()
  expect(await ask(stage, 'apply ours')).toMatchObject({ applied: ['new/made.txt'], decided: 'ours' })
  expect(at(here, 'both.txt')).toContain('by me')
  expect(await ask(stage, 'apply theirs')).toMatchObject({ applied: ['both.txt'], decided: 'theirs' })
  expect(at(here, 'both.txt')).toBe(TEXT.replace('two', 'by the worker'))
})

/** Promise 11.3: Applying a worker's files is idempotent. */
test('a repeated apply neither reports a conflict with merged changes nor overwrites them', async () => {
  const { stage, here, there } = await startCopied()
  await using _ = stage
  writeFileSync(join(here, 'lines.txt'), '\n')
  writeFileSync(join(there, 'lines.txt'), 'b\n\nb\n')
  expect(await ask(stage, 'apply fail')).toMatchObject({ merged: ['lines.txt'] })
  // A second merge would be a conflict: only the record of the first merge prevents it.
  expect(at(here, 'lines.txt')).toBe('b\n\n')
  expect(mergeText('b\n\n', '\nb\n', 'b\n\nb\n')).toBeNull()
  expect(await ask(stage, 'apply theirs')).toEqual({ applied: [], merged: [], unchanged: 3 })
  expect(at(here, 'lines.txt')).toBe('b\n\n')
})

test('applies only the selected files', async () => {
  const { stage, here } = await startCopied()
  await using _ = stage
  expect(await ask(stage, 'only ./new/')).toMatchObject({ applied: ['new/made.txt'] })
  expect(at(here, 'both.txt')).toBe(TEXT)
})

test('a worker that shares the workspace has no copy and nothing to apply', async () => {
  const { stage, here, copies } = await startCopied({}, 'share')
  await using _ = stage
  expect(copies()).toEqual([])
  expect(at(here, 'new/made.txt')).toBe('made')
  expect(await ask(stage, 'apply fail')).toMatchObject({
    error: expect.stringContaining('worked in your own workspace'),
  })
})

/** Promise 14.4: A copy that is too large or interrupted by a crash leaves no partial copy. */
test('a copy that would be too large fails the worker with a suggestion, and leaves no partial copy', async () => {
  const { stage, copies } = await startCopied({ copyLimits: { max_bytes: 1000, max_files: 1 } })
  await using _ = stage
  const { data } = await stage.next('worker.failed')
  expect(data).toMatchObject({
    cause: 'error',
    error: expect.stringMatching(/more than 1 files.*isolation: share/),
  })
  expect(copies()).toEqual([])
})

test('deletes and recreates a copy that a crash left unfinished', async () => {
  const stage = await setStage({ limits: { drain_s: 0 }, scenario: SCENARIO })
  await using _ = stage
  const workspaces = join(stage.dir, 'workspaces')
  mkdirSync(join(workspaces, stage.session_id), { recursive: true })
  writeFileSync(join(workspaces, stage.session_id, 'both.txt'), TEXT)
  const child = derivedId(stage.session_id, 'the-spawn', 0)
  for (const left of [child, `${child}.left`]) {
    mkdirSync(join(workspaces, left))
    writeFileSync(join(workspaces, left, 'half.txt'), 'half')
  }
  stage.start()
  await stage.send('go')
  await stage.until(ended)
  expect((await stage.store.links.children(stage.session_id)).map(link => link.child_id)).toEqual([child])
  expect(readdirSync(workspaces).toSorted()).toEqual([stage.session_id, child].toSorted())
  expect(at(join(workspaces, child), 'half.txt')).toBeNull()
})
