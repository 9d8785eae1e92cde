import { expect, test } from 'vitest'
import { describeInstallation } from './installation.ts'

test.each([
  ['file:///home/me/cairn/agent/app/src/cli/doctor.ts', null, 'sources of a clone in /home/me/cairn/'],
  [
    'file:///srv/node_modules/some-name/agent/chunk-1.mjs',
    null,
    'npm package in /srv/node_modules/some-name/agent/',
  ],
  ['file:///opt/cairn/chunk-1.mjs', null, 'bundle in /opt/cairn/'],
  [
    'file:///home/me/.cache/cairn/0123/agent/chunk-1.mjs',
    '/usr/bin/cairn',
    'executable /usr/bin/cairn, unpacked to /home/me/.cache/cairn/0123/agent/',
  ],
])('describes the installation of %s', (url, executable, text) => {
  expect(describeInstallation({ url }, executable)).toBe(text)
})
