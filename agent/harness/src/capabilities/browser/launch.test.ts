import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { launcherScript } from './launch.ts'

test('the launcher keeps every flag and adds our disabled features to those of Playwright', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-launcher-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [launcher, pidFile] = [join(folder, "it's the launcher"), join(folder, 'pid')]
  writeFileSync(launcher, launcherScript(['/usr/bin/printf', '%s\n', "a 'quoted' word"], pidFile))
  chmodSync(launcher, 0o700)
  const flags = ['--first', '--disable-features=One,Two', 'a b "c" $d', '']
  expect(execFileSync(launcher, flags, { encoding: 'utf8' }).split('\n')).toEqual([
    "a 'quoted' word",
    '--first',
    '--disable-features=One,Two,WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup',
    'a b "c" $d',
    '',
    '',
  ])
  expect(Number(readFileSync(pidFile, 'utf8'))).toBeGreaterThan(0)
})
