/**
 * The groups of the end-to-end tests: a test that opens a browser is a page test, in any folder. Test files
 * of a group share a process.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import config from '../vitest.config.ts'
import { BROWSER_HELPER, testGroups } from './test-groups.ts'
import { listPaths, root } from './workspace.ts'

const groups = testGroups()
const grouped = Object.values(groups).flat()
const e2eFiles = ['agent/app/e2e', 'tune/cli/e2e', 'tooling/e2e'].flatMap(listPaths)

test('every end-to-end test is in one group, and every group entry is a file', () => {
  const endToEnd = grouped.filter(path => path.includes('/e2e/'))
  expect(endToEnd.toSorted()).toEqual(e2eFiles.filter(path => path.endsWith('.test.ts')).toSorted())
  expect(grouped.filter(path => !existsSync(join(root, path)))).toEqual([])
})

test('vitest runs exactly these groups and the unit tests', () => {
  const projects = (config.test?.projects ?? []) as { test: { name: string; include: string[] } }[]
  const listed = projects.map(({ test: { name, include } }) => [name, include])
  expect(Object.fromEntries(listed)).toEqual({ unit: expect.any(Array) as unknown, ...groups })
})

test('no group without a browser contains a test that opens pages', () => {
  // Unlike the assignment to groups, which follows imports, this looks for the calls that open a page.
  const opensPages = (path: string): boolean =>
    /\bopenBrowser\(|\bchromium\.launch\(|\bopenPage\(/.test(readFileSync(join(root, path), 'utf8'))
  const tests = e2eFiles.filter(path => path.endsWith('.test.ts') && opensPages(path))
  expect(tests).toContain('agent/app/e2e/security/artifact-frame.test.ts')
  expect(tests).toContain('agent/app/e2e/security/no-sandbox.test.ts')
  expect(tests.filter(path => [...groups.e2e, ...groups.faults].includes(path))).toEqual([])
})

test('detects a page test by any import of the browser helper', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-groups-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const files: Record<string, string> = {
    [BROWSER_HELPER]: 'export const openBrowser = () => {}',
    'agent/app/e2e/own-helper.ts': "export { openBrowser } from './browser.ts'",
    'agent/app/e2e/types.ts':
      "import type { openBrowser } from './browser.ts'\nexport type Open = typeof openBrowser",
    'agent/app/e2e/beside.test.ts': "import { openBrowser } from './browser.ts'",
    'agent/app/e2e/deep/below.test.ts': "import { openBrowser } from '../browser.ts'",
    'agent/app/e2e/deep/through-a-helper.test.ts': "import { openBrowser } from '../own-helper.ts'",
    'agent/app/e2e/late.test.ts': "const { openBrowser } = await import('./browser.ts')",
    'agent/app/e2e/in-a-comment.test.ts': "// import { openBrowser } from './browser.ts'",
    'agent/app/e2e/types-alone.test.ts': "import type { Open } from './types.ts'",
    'tooling/e2e/far.test.ts': "import { openBrowser } from '../../agent/app/e2e/browser.ts'",
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), `${text}\n`)
  }
  const { pages, e2e } = testGroups(folder)
  expect(pages).toEqual([
    'agent/app/e2e/beside.test.ts',
    'agent/app/e2e/deep/below.test.ts',
    'agent/app/e2e/deep/through-a-helper.test.ts',
    'agent/app/e2e/late.test.ts',
    'tooling/e2e/far.test.ts',
  ])
  expect(e2e).toEqual(['agent/app/e2e/in-a-comment.test.ts', 'agent/app/e2e/types-alone.test.ts'])
})

/**
 * A variable that stayed set once moved the kernel cache, and every later file compiled the kernels again.
 */
test('a test file sets environment variables only until it ends', () => {
  const files = ['agent', 'tune', 'dev', 'tooling']
    .flatMap(listPaths)
    .filter(path => path.endsWith('.test.ts'))
  expect(files).toContain('tune/train/test/preferences.test.ts')
  const textOf = (path: string) => readFileSync(join(root, path), 'utf8')
  const writesDirectly =
    /process\.env(?:\[[^\]]+\]|\.\w+)\s*(?:\?\?|\|\|)?=(?!=)|delete process\.env|assign\(process\.env/
  const forgets = (text: string) => /\bstubEnv\(/.test(text) && !/\bunstubAllEnvs\(/.test(text)
  const own = 'tooling/test-groups.test.ts'
  const wrong = files.filter(
    path => path !== own && (writesDirectly.test(textOf(path)) || forgets(textOf(path))),
  )
  expect(wrong).toEqual([])
})
