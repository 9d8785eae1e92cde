/** Limits of schedules. */
import { z } from 'zod'

export const SchedulesConfig = z
  .strictObject({
    enabled: z.boolean().default(true),
    tool: z
      .enum(['ask', 'allow', 'off'])
      .default('ask')
      .describe('whether agents may create schedules; ask: a person approves each one'),
    timezone: z.string().default('UTC').describe('time zone of schedules that name none'),
    max_per_principal: z.int().positive().default(50),
    max_per_session: z.int().positive().default(10),
    max_running: z
      .int()
      .positive()
      .nullable()
      .default(3)
      .describe('max runs of one user or service account at a time; others wait'),
    expires_days: z
      .number()
      .positive()
      .default(7)
      .describe('days after which schedules of agents and /loop expire'),
    late_s: z.number().positive().default(300).describe('max delay with which a run still counts as on time'),
    max_failures: z.int().positive().default(5).describe('consecutive failures that pause a schedule'),
    keep_runs_days: z
      .number()
      .positive()
      .max(30)
      .default(7)
      .describe('days after its end until the session of a run is archived'),
  })
  .describe('scheduled runs of agents')
export type SchedulesConfig = z.infer<typeof SchedulesConfig>
