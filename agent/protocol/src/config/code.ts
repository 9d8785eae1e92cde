/** Coding agents. */
import { z } from 'zod'
import { name, modelName, envName } from './names.ts'

export const CodeConfig = z
  .strictObject({
    default: name.default('cairn').describe('the agent of /code and run_coding_agent if none is named'),
    tool: z
      .enum(['ask', 'allow', 'off'])
      .default('ask')
      .describe('whether agents may start coding runs; ask: a person approves each one'),
    max: z.int().positive().default(2).describe('max runs of one runner at a time; others wait'),
    minutes: z.number().positive().default(60).describe('max minutes that one process of a run may work'),
    max_cost_usd: z
      .number()
      .positive()
      .nullable()
      .default(5)
      .describe('max cost of a run, if its model has a price'),
    max_tokens: z.int().positive().nullable().default(null).describe('max input and output tokens of a run'),
    approval_wait_s: z
      .number()
      .nonnegative()
      .default(120)
      .describe('seconds that a run keeps its process while it waits for an approval; then it is parked'),
    agents: z
      .record(
        name,
        z.strictObject({
          command: z.string().optional().describe('absent: the known agent of that name'),
          args: z.array(z.string()).default([]),
          model: modelName.optional().describe('absent: the model of the session'),
          env: z.record(z.string(), z.string()).default({}),
        }),
      )
      .default({})
      .describe('agents besides the built-in one'),
    repos: z
      .record(
        name,
        z.strictObject({
          url: z
            .url({ protocol: /^https?$/ })
            .refine(url => new URL(url).username === '', 'must not contain a token: use token_env')
            .describe('URL of a Git repository, over HTTP'),
          token_env: envName
            .optional()
            .describe('environment variable that holds its token; absent: no token'),
          user: z.string().min(1).default('x-access-token').describe('user name that the token belongs to'),
        }),
      )
      .default({})
      .describe('repositories that a run can work in; their tokens stay outside its sandbox'),
    push: z
      .enum(['ask', 'allow', 'off'])
      .default('ask')
      .describe('whether a run may push to its repository; ask: a person approves each push'),
  })
  .describe('coding agents that work in a sandbox')
export type CodeConfig = z.infer<typeof CodeConfig>
