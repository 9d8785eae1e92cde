/** Research in API responses. */
import { z } from 'zod'
import { RESEARCH_LEVELS, ResearchSettings } from '../config/research.ts'

const timestamp = z.iso.datetime()
export const BranchView = z
  .object({
    key: z.string().describe('the key of its parent branch, a dot and its own part'),
    parent_key: z.string().nullable(),
    worker_id: z.string(),
    question: z.string(),
    status: z.enum(['open', 'complete', 'failed']),
    score: z.number().nullable(),
    improves: z.boolean().nullable().describe('null: not harvested, or unknown'),
    why: z.string().nullable().describe('reason for its score'),
    findings: z.string().nullable(),
    level: z.enum(RESEARCH_LEVELS).nullable().describe('the level that this branch reached'),
    harvested_at: timestamp.nullable(),
    adopted_at: timestamp.nullable(),
  })
  .meta({ id: 'ResearchBranch' })
export type BranchView = z.infer<typeof BranchView>
export const SourceView = z
  .object({
    number: z.int().positive().describe('cited as [S<number>]'),
    branch_key: z.string(),
    url: z.string(),
    title: z.string(),
    quote: z.string(),
    claim: z.string(),
    fetched_at: timestamp,
  })
  .meta({ id: 'ResearchSource' })
export type SourceView = z.infer<typeof SourceView>
export const ResearchView = z
  .object({
    run: ResearchSettings.extend({
      run_id: z.string(),
      mission_id: z.string(),
      session_id: z.string(),
      best_score: z.number().nullable(),
      consecutive_non_improving: z.int().nonnegative(),
      level: z.enum(RESEARCH_LEVELS).nullable().describe('level reached since the last improvement'),
      report: z
        .object({ artifact_id: z.string(), title: z.string(), at: timestamp })
        .nullable()
        .describe('the last report, an artifact of the coordinator'),
    }),
    branches: z.array(BranchView),
    sources: z.array(SourceView),
  })
  .meta({ id: 'Research' })
export type ResearchView = z.infer<typeof ResearchView>
