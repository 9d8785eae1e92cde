/**
 * Cost per call of file tools and workspace routes: the gate's check and the tool itself, without writing to
 * the log, on a workspace of several hundred files.
 */
import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createApi, mintUserToken } from '@cairn/api'
import { gate } from '@cairn/harness/internal/gate'
import { editFileTool } from '@cairn/harness/internal/edit-file'
import { listFilesTool } from '@cairn/harness/internal/list-files'
import { readFileTool } from '@cairn/harness/internal/read-file'
import { searchFilesTool } from '@cairn/harness/internal/search-files'
import type { Tool } from '@cairn/harness/internal/tool'
import { writeFileTool } from '@cairn/harness/internal/write-file'
import { openSqliteStore } from '@cairn/log'
import { Config, GovernanceConfig } from '@cairn/protocol'
import type { Reading } from './table.ts'

/** Duration per reading: enough for a stable median. */
const EACH_MS = 800
const WARM_UP = 20

export async function benchFiles(directory: string): Promise<Reading[]> {
  const dir = await mkdtemp(join(directory, 'cairn-bench-'))
  const workspacesDir = join(dir, 'workspaces')
  try {
    const sessionId = randomUUID()
    const workspace = join(workspacesDir, sessionId)
    fill(workspace)
    const aside = join(workspacesDir, 'aside')
    mkdirSync(aside)
    const routes = await serve(dir, workspacesDir, sessionId)
    try {
      return await measureAll({ ...tools(workspace, aside), ...routes.acts })
    } finally {
      await routes.close()
    }
  } finally {
    await rm(dir, { recursive: true })
  }
}

/** 20 folders of 15 files, two levels deep. */
function fill(workspace: string): void {
  const text = 'const answer = question + 1 // as it was said\n'.repeat(50)
  for (let folder = 0; folder < 20; folder += 1) {
    const path = join(workspace, 'src', `part-${folder}`)
    mkdirSync(path, { recursive: true })
    for (let file = 0; file < 15; file += 1) writeFileSync(join(path, `file-${file}.ts`), text)
  }
  writeFileSync(join(workspace, 'readme.md'), `# Needle\n${text}`)
}

type Acts = Record<string, () => Promise<unknown>>

/** `aside` is a workspace that may grow without slowing down the others. */
function tools(workspace: string, aside: string): Acts {
  const policy = GovernanceConfig.parse({})
  const signal = new AbortController().signal
  const context = {
    session_id: 's',
    turn_id: 't',
    workspace,
    signal,
    timeoutMs: 60_000,
    egress: policy.egress,
  }
  const use =
    (tool: Tool, args: Record<string, unknown>, at = workspace) =>
    async () => {
      const parsed = tool.parameters.parse(args)
      const may = { policy, agentTools: undefined, workspace: at, findGrant: () => Promise.resolve(null) }
      const { allow } = await gate(may, tool, parsed, '')
      if (!allow) throw new Error(`the gate refused ${tool.name}`)
      await tool.run(parsed, { ...context, workspace: at, tool_call_id: randomUUID() })
    }
  const path = 'src/part-7/file-7.ts'
  const content = 'old = const\n'.repeat(100)
  writeFileSync(join(workspace, 'src/part-7/edited.ts'), content)
  // Alternating, so that each call finds the text to replace.
  let words: [string, string] = ['old', 'new']
  const edit = (): Promise<void> => {
    const [old_string, new_string] = words
    words = [new_string, old_string]
    return use(editFileTool, { path: 'src/part-7/edited.ts', old_string, new_string, replace_all: true })()
  }
  return {
    'read_file, at the top': use(readFileTool, { path: 'readme.md' }),
    'read_file, two folders deep': use(readFileTool, { path }),
    write_file: use(writeFileTool, { path: 'src/part-7/written.ts', content }),
    'write_file, a new folder': () =>
      use(writeFileTool, { path: `${randomUUID()}/written.ts`, content }, aside)(),
    edit_file: edit,
    'list_files, 300 files': use(listFilesTool, { path: 'src' }),
    'search_files, 300 files': use(searchFilesTool(), { pattern: 'Needle|never there', path: 'src' }),
  }
}

async function serve(
  dir: string,
  workspacesDir: string,
  sessionId: string,
): Promise<{ acts: Acts; close: () => Promise<void> }> {
  const store = await openSqliteStore({ dir: join(dir, 'store') })
  const api = await createApi({
    store,
    config: Config.parse({ limits: { requests_per_minute: 1_000_000_000 } }),
    dataDir: dir,
    workspacesDir,
    now: Date.now,
    newId: () => sessionId,
    log: { info: () => {}, warn: console.error, error: console.error },
    version: 'bench',
    demo: false,
  })
  const { port } = await api.listen(0, '127.0.0.1')
  const admin = await store.accounts.ensureFirstAdmin(
    { id: randomUUID(), name: 'Bench' },
    { id: randomUUID(), email: 'bench@example.org', name: 'Bench' },
  )
  const token = await mintUserToken({ dataDir: dir, userId: admin.id, now: Date.now() })
  const call = async (path: string, method = 'GET', body?: string): Promise<void> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const response = await fetch(`http://127.0.0.1:${port}/v1/sessions${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
    })
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
    await response.arrayBuffer()
  }
  await call('', 'POST', '{}')
  return {
    acts: {
      'route workspace/file': () => call(`/${sessionId}/workspace/file?path=src/part-7/file-7.ts`),
      'route workspace/tree, 300 files': () => call(`/${sessionId}/workspace/tree`),
    },
    async close() {
      await api.close()
      await store.close()
    },
  }
}

async function measureAll(acts: Acts): Promise<Reading[]> {
  const readings: Reading[] = []
  for (const [name, act] of Object.entries(acts))
    readings.push({ name: `${name}, p50`, value: await medianMs(act), unit: 'ms' })
  return readings
}

async function medianMs(act: () => Promise<unknown>): Promise<number> {
  for (let warm = 0; warm < WARM_UP; warm += 1) await act()
  const took: number[] = []
  for (const start = performance.now(); performance.now() - start < EACH_MS;) {
    const before = performance.now()
    await act()
    took.push(performance.now() - before)
  }
  return Number((took.toSorted((a, b) => a - b)[Math.floor(took.length / 2)] ?? Number.NaN).toPrecision(3))
}
