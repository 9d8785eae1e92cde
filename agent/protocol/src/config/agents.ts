/** Agents and experts. */
import { z } from 'zod'
import { SessionBudget } from './budget.ts'
import { GovernanceConfig } from './governance.ts'
import { modelName, name } from './names.ts'

export const SagaConfig = z.strictObject({
  enabled: z.boolean().default(false),
  undo: z
    .record(
      z.string(),
      z.strictObject({
        tool: z.string(),
        args: z
          .record(z.string(), z.unknown())
          .default({})
          .describe('{{arguments.x}} and {{result.x}} are replaced by values of the call'),
      }),
    )
    .default({})
    .describe('by tool name: the tool that undoes its effect'),
})

export const AdvisorConfig = z
  .strictObject({
    model: modelName.optional().describe('absent: no advisor'),
    every_iterations: z
      .int()
      .min(1)
      .default(10)
      .describe('iterations of a turn between two requests for advice'),
    before_finish: z
      .boolean()
      .default(true)
      .describe('whether the advisor checks a turn that used tools before it ends'),
    max_per_turn: z.int().min(1).max(20).default(2),
    max_tokens: z.int().positive().default(700),
    timeout_s: z.number().positive().default(20),
  })
  .describe('a second model that comments on the work of the first one')
export type AdvisorConfig = z.infer<typeof AdvisorConfig>

export const ReviewConfig = z
  .strictObject({
    memory: z.boolean().default(false).describe('whether to store facts about the user in a memory file'),
    skills: z
      .boolean()
      .default(false)
      .describe('whether to propose reusable procedures as skills; accepted skills become available'),
    every_turns: z.int().min(1).default(5),
    model: modelName.optional().describe('absent: the summary model, else the model of the agent'),
    max_tokens: z.int().positive().default(2000),
    timeout_s: z.number().positive().default(120),
  })
  .describe('a review of the session in the background, every `every_turns` turns')
export type ReviewConfig = z.infer<typeof ReviewConfig>

export const AgentInboxConfig = z
  .strictObject({
    checkin_minutes: z.number().positive().default(30),
    checkin_iterations: z.int().min(1).optional(),
    task_complete_minutes: z
      .number()
      .nonnegative()
      .default(10)
      .describe('work that took at least this long is reported when it ends; 0: all work'),
  })
  .describe('when an agent reports progress and completion')
export type AgentInboxConfig = z.infer<typeof AgentInboxConfig>

export const WorkersConfig = z
  .strictObject({
    enabled: z.boolean().default(true),
    agents: z
      .array(z.string())
      .default(['self'])
      .describe('agents that a worker may use; self: the agent of its parent'),
    models: z.array(modelName).default([]).describe('models that a worker may use besides that of its agent'),
    max_depth: z.int().min(1).max(8).default(2).describe('1: workers cannot create workers'),
    max_open: z.int().min(1).max(64).default(8).describe('max open workers of one session'),
    max_total: z.int().min(1).max(1000).default(50).describe('max workers of a session tree within 24 hours'),
    max_iterations: z.int().min(1).max(1000).default(30).describe('max iterations of one worker'),
    may_ask: z.boolean().default(true).describe('whether a worker may ask the user questions'),
    budget: z
      .strictObject({
        max_tokens: z.int().min(2000).nullable().default(500_000),
        max_cost_usd: z.number().positive().nullable().default(null),
        max_minutes: z.number().positive().nullable().default(30),
      })
      .prefault({})
      .describe(
        'limits for a worker and its descendants, at most its share of what its parent has left; null: none',
      ),
  })
  .describe('child sessions that work for the agent')
export type WorkersConfig = z.infer<typeof WorkersConfig>

export const AgentConfig = z.strictObject({
  description: z
    .string()
    .optional()
    .describe('what the agent is good at; shown to agents that may use it as a worker'),
  model: modelName.optional(),
  escalation_model: modelName.optional(),
  summary_model: modelName.optional(),
  system: z
    .string()
    .default('You are a careful assistant. Use the tools when they help, and say plainly what you did.'),
  tools: z.array(z.string()).optional().describe('absent: all'),
  max_iterations: z.int().min(1).max(1000).default(90),
  temperature: z.number().min(0).max(2).optional(),
  max_tokens: z.int().positive().optional(),
  experts: z.array(name).default([]),
  saga: SagaConfig.prefault({}),
  missions: z
    .strictObject({
      evaluator_model: modelName.optional().describe('absent: the evaluator model of goals'),
      max_iterations: z.int().min(1).max(20).default(20).describe('default max rounds of a mission'),
      budget: SessionBudget.prefault({}).describe('default budget of a mission, for its whole session tree'),
    })
    .prefault({}),
  goals: z
    .strictObject({
      evaluator_model: modelName
        .optional()
        .describe('absent: the summary model, else the model of the agent'),
      max_tokens: z.int().positive().optional(),
      max_cost_usd: z.number().positive().optional(),
      max_minutes: z.number().positive().optional(),
    })
    .prefault({})
    .describe(
      'limits for one goal, counted from its definition; a goal that exceeds one fails within one model call',
    ),
  advisor: AdvisorConfig.prefault({}),
  review: ReviewConfig.prefault({}),
  inbox: AgentInboxConfig.prefault({}),
  workers: WorkersConfig.prefault({}),
  board: z.boolean().default(true).describe('whether the agent shares notes with other sessions of its tree'),
  governance: GovernanceConfig.prefault({}),
})
export type AgentConfig = z.infer<typeof AgentConfig>

export const ExpertConfig = z.strictObject({
  description: z.string(),
  model: modelName.optional(),
  system: z.string(),
  tools: z.array(z.string()).default([]),
  max_iterations: z.int().min(1).max(100).default(10),
})
export type ExpertConfig = z.infer<typeof ExpertConfig>
