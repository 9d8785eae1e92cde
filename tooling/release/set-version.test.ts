import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { root } from '../workspace.ts'
import {
  changedContract,
  newestRelease,
  releaseChangelog,
  setVersion,
  statedVersions,
  unreleased,
} from './set-version.ts'

const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')

test('every file states the same version, and the changelog ends with it', () => {
  const versions = statedVersions(root)
  expect(new Set(Object.values(versions)).size, JSON.stringify(versions)).toBe(1)
  expect(newestRelease(changelog) ?? '0.0.0').toBe(versions['package.json'])
})

test('a contract that differs from the last release has lines in the changelog', () => {
  if (changedContract(root).length > 0)
    expect(unreleased(changelog), `${changedContract(root).join(', ')} changed`).not.toBe('')
})

function copyOfFiles(): string {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-version-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const path of [
    'package.json',
    'package-lock.json',
    'tooling/version.ts',
    'CHANGELOG.md',
    'docs/contract.md',
    'docs/events.md',
    'docs/openapi.json',
    'clients/python/pyproject.toml',
    'deploy/helm/cairn/Chart.yaml',
    'deploy/helm/golden/default.yaml',
  ]) {
    mkdirSync(join(folder, dirname(path)), { recursive: true })
    cpSync(join(root, path), join(folder, path))
  }
  mkdirSync(join(folder, 'tooling/release'))
  writeFileSync(join(folder, 'CHANGELOG.md'), '# Changelog\n\n## Unreleased\n\n### Added\n\n- A line.\n')
  return folder
}

test('writes the version to every file and moves the lines of the changelog', () => {
  const folder = copyOfFiles()
  expect(changedContract(folder)).toHaveLength(3)
  setVersion(folder, '0.7.1', '2026-01-02')
  expect(new Set(Object.values(statedVersions(folder)))).toEqual(new Set(['0.7.1']))
  const manifests = readFileSync(join(folder, 'deploy/helm/golden/default.yaml'), 'utf8')
  for (const words of ['image: cairn:0.7.1', 'chart: cairn-0.7.1', 'version: 0.7.1', '0.0.0.0/0'])
    expect(manifests).toContain(words)
  const text = readFileSync(join(folder, 'CHANGELOG.md'), 'utf8')
  expect(text).toContain('## Unreleased\n\n## 0.7.1 - 2026-01-02\n\n### Added\n\n- A line.')
  expect(newestRelease(text)).toBe('0.7.1')
  expect(unreleased(text)).toBe('')
  const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8')
  expect(lock.match(/"version": "0\.7\.1"/g)).toHaveLength(2)

  expect(changedContract(folder)).toEqual([])
  writeFileSync(join(folder, 'docs/contract.md'), 'changed')
  expect(changedContract(folder)).toEqual(['docs/contract.md'])
})

test('refuses an invalid version, and a release without lines', () => {
  expect(() => setVersion(root, '1.0', '2026-01-02')).toThrow('Invalid version "1.0"')
  expect(() =>
    releaseChangelog('# Changelog\n\n## Unreleased\n\n## 0.1.0 - 2026-01-01\n', '0.2.0', ''),
  ).toThrow('lists nothing under "Unreleased"')
  expect(() => unreleased('# Changelog\n')).toThrow('no heading')
})
