/** Settings of research: a mission whose work is done by branches. */
import { z } from 'zod'

export const RESEARCH_MODES = ['report', 'metric'] as const
export type ResearchMode = (typeof RESEARCH_MODES)[number]
/** Stagnation levels: warn the session, change direction, end the research. */
export const RESEARCH_LEVELS = ['warn', 'shift', 'stop'] as const
export type ResearchLevel = (typeof RESEARCH_LEVELS)[number]

/** The maximum timeout of a terminal command (tools/terminal.ts). */
const MAX_TIMEOUT_S = 600
const branches = z.int().min(1).max(50)

export const ResearchMetric = z
  .strictObject({
    command: z
      .string()
      .trim()
      .min(1)
      .max(4000)
      .describe('bash command that runs in a copy of the files; the last number it prints is the score'),
    direction: z.enum(['max', 'min']).describe('whether a greater or a smaller number is better'),
    timeout_s: z.int().min(1).max(MAX_TIMEOUT_S).default(120),
  })
  .describe('how a branch is measured, in mode metric')
export type ResearchMetric = z.infer<typeof ResearchMetric>

export const ResearchInput = z
  .strictObject({
    mode: z
      .enum(RESEARCH_MODES)
      .default('report')
      .describe('report: branches cite their sources; metric: branches change files, which are measured'),
    max_branches: branches.default(24).describe('max branches in total'),
    max_parallel: branches.default(6).describe('max branches at a time'),
    improve_at: z
      .number()
      .min(0)
      .max(100)
      .default(40)
      .describe('mode report: min score of a branch that counts as an improvement'),
    min_delta: z
      .number()
      .nonnegative()
      .default(0)
      .describe('mode metric: a branch counts as an improvement if it beats the best by more than this'),
    metric: ResearchMetric.optional(),
  })
  .refine(({ mode, metric }) => (mode === 'metric') === (metric !== undefined), {
    path: ['metric'],
    error: 'is required in mode metric and allowed only there: {"command": "./score.sh", "direction": "max"}',
  })
export type ResearchInput = z.infer<typeof ResearchInput>

/** Consecutive harvested branches without improvement that reach each level. */
export const ResearchLevels = z
  .strictObject({
    warn: z.int().positive().default(3),
    shift: z.int().positive().default(5),
    stop: z.int().positive().default(8),
  })
  .refine(({ warn, shift, stop }) => warn < shift && shift < stop, { error: 'must rise from warn to stop' })
export type ResearchLevels = z.infer<typeof ResearchLevels>

/** Settings fixed when the research is defined; later configuration changes do not affect it. */
export const ResearchSettings = z.strictObject({
  mode: z.enum(RESEARCH_MODES),
  max_branches: branches,
  max_parallel: branches,
  improve_at: z.number(),
  min_delta: z.number(),
  metric: ResearchMetric.optional(),
  levels: z.strictObject({ warn: z.int(), shift: z.int(), stop: z.int() }),
})
export type ResearchSettings = z.infer<typeof ResearchSettings>

/** Null: the score could not be determined. Absent: the branch failed and there was nothing to score. */
export type Scores = Readonly<Record<string, number | null>>
