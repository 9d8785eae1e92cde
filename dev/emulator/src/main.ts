/**
 * Runs a command with the emulated card as its driver: `npm run dev -- emulated COMMAND…`. The command finds
 * libcuda.so.1 as it would find NVIDIA's.
 */
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { dirname } from 'node:path'
import { buildEmulator } from './build.ts'

const [command, ...args] = process.argv.slice(2)
if (command === undefined) {
  console.error('usage: npm run dev -- emulated COMMAND…')
  process.exit(2)
}
const library = await buildEmulator({ log: line => console.error(line) })
const path = [dirname(library), process.env['LD_LIBRARY_PATH'] ?? ''].filter(part => part !== '').join(':')
const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, LD_LIBRARY_PATH: path } })
child.on('error', error => {
  console.error(`cannot start ${command}: ${error.message}`)
  process.exitCode = 127
})
child.on('exit', (status, signal) => {
  process.exitCode = status ?? 128 + (signal ? constants.signals[signal] : 0)
})
