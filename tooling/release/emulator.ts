/** Runs programs for arm64 on another processor: qemu, with the libraries of Debian's cross compiler. */
import { spawnSync } from 'node:child_process'
import { dirname } from 'node:path'
import { realpathSync } from 'node:fs'

const EMULATOR = 'qemu-aarch64'
export const ARM64_COMPILER = 'aarch64-linux-gnu-g++'

/** What a command prints, or undefined where it cannot be started. */
function outputOf(command: string, ...args: string[]): string | undefined {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

/** The start of a command line that runs a program for arm64. Throws if a tool is not installed. */
export function arm64Emulator(): [string, ...string[]] {
  const packages = { [EMULATOR]: 'qemu-user', [ARM64_COMPILER]: 'g++-aarch64-linux-gnu' }
  const missing = Object.entries(packages).filter(([command]) => outputOf(command, '--version') === undefined)
  if (missing.length > 0)
    throw new Error(
      `programs for arm64 run under emulation, which needs ${missing.map(([each]) => each).join(' and ')} on ` +
        `the PATH. On Debian and Ubuntu: apt-get install ${missing.map(([, name]) => name).join(' ')}`,
    )
  return [EMULATOR, '-L', findSysroot()]
}

/** The directory of the compiler's C library for ARM, where emulated programs find their loader. */
function findSysroot(): string {
  const library = outputOf(ARM64_COMPILER, '-print-file-name=libc.so.6') ?? ''
  // A compiler that has none prints the bare name.
  if (!library.includes('/'))
    throw new Error(
      `${ARM64_COMPILER} has no C library for ARM (libc.so.6). On Debian and Ubuntu: apt-get install ` +
        'libc6-dev-arm64-cross',
    )
  return dirname(dirname(realpathSync(library)))
}
