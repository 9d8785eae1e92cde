import { mkdirSync, mkdtempSync, realpathSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { workspaceMask } from './workspace-mask.ts'

function makeWorkspace() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-mask-')))
  const workspace = join(base, 'ws')
  mkdirSync(workspace)
  return { base, workspace }
}

test('masks and unmasks keys and nested values', () => {
  const { workspace } = makeWorkspace()
  const { mask, unmask } = workspaceMask(workspace)
  const value = {
    [`${workspace}/k`]: [`cat ${workspace}/a.txt > ${workspace}`, { n: 1, none: null }],
    same: 'text',
  }
  expect(mask(value)).toEqual({
    '__WORKSPACE__/k': ['cat __WORKSPACE__/a.txt > __WORKSPACE__', { n: 1, none: null }],
    same: 'text',
  })
  expect(unmask(mask(value))).toEqual(value)
})

test('does not mask a sibling whose name begins like the workspace', () => {
  const { workspace } = makeWorkspace()
  const { mask } = workspaceMask(workspace)
  expect(mask(`${workspace}-other/x ${workspace}2 ${workspace}.bak ${workspace}.`)).toBe(
    `${workspace}-other/x ${workspace}2 ${workspace}.bak __WORKSPACE__.`,
  )
})

test('masks both names of a workspace that is reached through a link', () => {
  const { base, workspace } = makeWorkspace()
  const link = join(base, 'link')
  symlinkSync(workspace, link)
  const { mask } = workspaceMask(link)
  expect(mask([join(link, 'x'), join(workspace, 'x')])).toEqual(['__WORKSPACE__/x', '__WORKSPACE__/x'])
})
