/**
 * The order of test files: the longest first, so that no long file is left alone at the end while the other
 * processor is idle. The durations are committed, because a clean clone has no cache of its own.
 */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const file = new URL('durations.json', import.meta.url)

/** Seconds by path. A file that is not listed counts as long: it is new, and its duration is unknown. */
const seconds: Record<string, number> = JSON.parse(readFileSync(file, 'utf8'))

export class LongestFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const durationOf = ({ moduleId, project }: TestSpecification): number =>
      seconds[relative(project.config.root, moduleId)] ?? Number.POSITIVE_INFINITY
    return specifications.toSorted(
      (a, b) =>
        groupOf(a).localeCompare(groupOf(b)) ||
        (durationOf(a) === durationOf(b) ? 0 : durationOf(b) - durationOf(a)),
    )
  }
}

/** Files of a group stay together, because a runner is shared only by files of one group that follow each other. */
const groupOf = ({ project }: TestSpecification): string =>
  `${project.config.isolate ? 'last' : 'first'} ${project.name}`
