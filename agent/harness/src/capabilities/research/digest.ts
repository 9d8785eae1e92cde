/** What the coordinator reads about ended branches. Pure. */
import type { ResearchSource } from '@cairn/log'
import { clip, type ResearchSettings } from '@cairn/protocol'
import type { Converged } from '@cairn/state'
import type { Measured } from './measure.ts'
import type { Found } from './score.ts'

const BRANCH_CHARS = 1500
const DIGEST_CHARS = 12_000

export type Harvest = {
  branches: readonly Found[]
  measured: ReadonlyMap<string, Measured>
  sources: readonly ResearchSource[]
  converged: Converged
  settings: ResearchSettings
}

export function composeDigest({ branches, measured, sources, converged, settings }: Harvest): string {
  const told = describeLevel(converged)
  const share = Math.floor((DIGEST_CHARS - (told?.length ?? 0)) / Math.max(1, branches.length)) - 2
  const parts = branches.map(branch =>
    describeBranch(branch, measured.get(branch.key), sources, settings, Math.min(BRANCH_CHARS, share)),
  )
  return [...parts, ...(told === null ? [] : [told])].join('\n\n')
}

function describeBranch(
  { key, question, ended }: Found,
  measured: Measured | undefined,
  sources: readonly ResearchSource[],
  { mode }: ResearchSettings,
  most: number,
): string {
  const own = sources.filter(({ branch_key }) => branch_key === key).map(({ number }) => `S${number}`)
  const score =
    ended.as === 'failed'
      ? 'failed'
      : measured === undefined || measured.score === null
        ? `no score: ${measured?.why ?? 'no evaluator was asked'}`
        : mode === 'report'
          ? `${measured.score} of 100: ${measured.why}`
          : `score ${measured.score}`
  const head = `Branch ${key} (${clip(score, 400)}): ${clip(question, 300)}`
  const cited = own.length === 0 ? '' : `\nSources: ${own.join(', ')}`
  const room = Math.max(0, most - head.length - cited.length - 1)
  return `${head}\n${clip(ended.text, room)}${cited}`
}

function describeLevel({ reached, after }: Converged): string | null {
  const count = `${after.count} branches in a row added nothing`
  switch (reached) {
    case null:
      return null
    case 'warn':
      return `${count}: choose the next ones with care, or start to write the report.`
    case 'shift':
      return `${count}: the next branch must start in another direction, without parent_key.`
    case 'stop':
      return `${count}: no more branches can start. Write the report with research_report.`
  }
}
