/** `cairn bench` of a package, which has no benchmarks. The bundler replaces bench.ts with this module. */
import { UsageError } from '../exit.ts'
import { defineCommand } from './command.ts'

export const bench = defineCommand({
  name: 'bench',
  summary: 'Measure the performance of the service on this machine (only in a clone)',
  usage: [['bench', 'needs a clone of the repository']],
  options: {},
  run: () =>
    Promise.reject(
      new UsageError(
        'Packages of Cairn contain no benchmarks: run npx cairn bench in a clone of the repository',
      ),
    ),
})
