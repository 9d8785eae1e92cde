/** A CUDA toolkit whose nvcc outputs hand-written kernels, for tests of the host's part without nvcc. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ptx = fileURLToPath(new URL('data/fake.ptx', import.meta.url))

/** Writes the toolkit to a folder. Returns the value for CUDA_HOME. */
export function makeToolkit(folder: string): string {
  const bin = join(folder, 'toolkit', 'bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(
    join(bin, 'nvcc'),
    '#!/bin/sh\n[ "$1" = --version ] && echo "release 99.0, V99.0.1" && exit\n' +
      `while [ "$1" != "-o" ]; do shift; done; cp ${ptx} "$2"\n`,
  )
  chmodSync(join(bin, 'nvcc'), 0o755)
  return join(folder, 'toolkit')
}
