import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStoreInProcess } from '@cairn/log/test/store-in-process'
import { archiveSession, createSession } from '@cairn/sessions'
import { expect, onTestFinished, test } from 'vitest'
import { fakeClock } from '../../test/turn/fake-clock.ts'
import { alice, newId } from '../../test/turn/stage.ts'
import { removeRetired, sweepMs } from './remove-retired.ts'

const GRACE_MS = 30_000
const SWEEP_MS = 60_000

async function setUp() {
  const dir = mkdtempSync(join(tmpdir(), 'cairn-retired-'))
  const store = await openStoreInProcess({ dir: join(dir, 'log') })
  onTestFinished(async () => {
    await store.close()
    rmSync(dir, { recursive: true })
  })
  const deps = { store, now: Date.now, newId }
  const places = [join(dir, 'workspaces'), join(dir, 'checkpoints')]
  const fill = (id: string): void => {
    for (const place of places) {
      mkdirSync(join(place, id, 'deep/er'), { recursive: true })
      writeFileSync(join(place, id, 'deep/er/file'), id)
    }
  }
  const held = new Set<string>()
  const said: string[] = []
  const clock = fakeClock()
  return {
    dir,
    store,
    places,
    held,
    said,
    fill,
    /** A session with files, as a child where a parent is given. */
    async session(parent_id?: string): Promise<string> {
      const session = await createSession(deps, ['assistant'], { principal: alice })
      if (parent_id !== undefined) {
        const id = newId()
        const { org_id, created_by, created_by_kind, agent, channel } = session
        await store.sessions.create({ id, org_id, created_by, created_by_kind, agent, channel, parent_id })
        fill(id)
        return id
      }
      fill(session.id)
      return session.id
    },
    async archive(id: string): Promise<void> {
      const session = await store.sessions.get(id)
      if (session !== null) await archiveSession(deps, session)
    },
    start: (retired = store.sessions.retired) =>
      removeRetired({
        store: { sessions: { retired } },
        places,
        clock,
        isHeld: id => held.has(id),
        graceMs: GRACE_MS,
        logger: (level, message) => said.push(`${level}: ${message}`),
      }),
    /** Advances a minute and waits for the end of its sweep. */
    async sweep(): Promise<void> {
      await clock.waitsFor(SWEEP_MS)
      clock.advance(SWEEP_MS)
      await clock.waitsFor(SWEEP_MS)
    },
    left: () => places.map(place => readdirSync(place).toSorted()),
  }
}

/**
 * Promise 6.6: Cairn removes the workspaces and checkpoints of archived sessions and their children, and no
 * others.
 */
test('removes the workspaces and checkpoints of archived sessions and their children, and no others', async () => {
  const at = await setUp()
  const [kept, gone] = [await at.session(), await at.session()]
  const child = await at.session(gone)
  const grandchild = await at.session(child)
  at.fill('of another server')
  writeFileSync(join(at.places[0]!, 'directory-id'), '')
  const stop = at.start()
  await at.archive(gone)
  await at.sweep()
  await at.sweep()
  expect(readdirSync(at.places[0]!)).not.toContain(grandchild)
  expect(at.left()).toEqual([
    [kept, 'directory-id', 'of another server'].toSorted(),
    [kept, 'of another server'].toSorted(),
  ])
  expect(at.said).toEqual(Array(3).fill('info: the workspace of an archived session was removed'))
  await stop()
})

test('removes an unfinished copy that a crash left together with its session', async () => {
  const at = await setUp()
  const [kept, gone] = [await at.session(), await at.session()]
  for (const id of [kept, gone]) at.fill(`${id}.unfinished`)
  const stop = at.start()
  await at.archive(gone)
  await at.sweep()
  await at.sweep()
  const left = [kept, `${kept}.unfinished`].toSorted()
  expect(at.left()).toEqual([left, left])
  await stop()
})

/** Promise 6.6: The workspace of an archived session stays until its last running command ends. */
test('keeps the workspace of a running command, and gives other processes time to end theirs', async () => {
  expect([GRACE_MS, 500, 86_400_000].map(sweepMs)).toEqual([SWEEP_MS, 1000, SWEEP_MS])
  const at = await setUp()
  const id = await at.session()
  at.held.add(id)
  await at.archive(id)
  const stop = at.start()
  for (let minute = 0; minute < 3; minute += 1) await at.sweep()
  expect(at.left()).toEqual([[id], [id]])
  at.held.delete(id)
  await at.sweep()
  expect(at.left()).toEqual([[], []])
  await stop()

  // Not held here, but another process may be ending its command: the first sweep after the archive leaves
  // it.
  const other = await at.session()
  const again = at.start()
  await at.sweep()
  await at.archive(other)
  await at.sweep()
  expect(at.left()).toEqual([[other], [other]])
  await at.sweep()
  expect(at.left()).toEqual([[], []])
  await again()
})

test('the next start removes what a crash left half removed', async () => {
  const at = await setUp()
  const id = await at.session()
  await at.archive(id)
  rmSync(join(at.places[0]!, id), { recursive: true })
  rmSync(join(at.places[1]!, id, 'deep/er'), { recursive: true })
  const stop = at.start()
  await at.sweep()
  await at.sweep()
  expect(at.left()).toEqual([[], []])
  await stop()
})

test('the next sweep works after a store error, and with a missing folder or one that is a link', async () => {
  const at = await setUp()
  const id = await at.session()
  const elsewhere = join(at.dir, 'elsewhere')
  mkdirSync(join(elsewhere, id), { recursive: true })
  for (const place of at.places) rmSync(place, { recursive: true })
  symlinkSync(elsewhere, at.places[0]!)
  await at.archive(id)
  let fails = 1
  const stop = at.start(ids =>
    fails-- > 0 ? Promise.reject(new Error('not now')) : at.store.sessions.retired(ids),
  )
  await at.sweep()
  await at.sweep()
  expect(readdirSync(elsewhere)).toEqual([])
  expect(at.said).toEqual([
    'error: failed to remove workspaces of archived sessions; it will be retried',
    'info: the workspace of an archived session was removed',
  ])
  await stop()
})
