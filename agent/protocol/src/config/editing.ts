/** What administrators may change in the web UI, and the schemas of it. */
import { z } from 'zod'
import { AgentConfig, ExpertConfig } from './agents.ts'
import { EgressConfig, GovernanceConfig } from './governance.ts'
import { maxAnswerMb, mcpServerName, pin } from './mcp.ts'
import { Rates } from './models.ts'
import { envName, modelName, name } from './names.ts'

export const EditingConfig = z
  .strictObject({
    enabled: z
      .boolean()
      .default(true)
      .describe('whether administrators may change agents, providers, MCP servers and skills'),
    policy: GovernanceConfig.prefault({}).describe(
      'rules that agents of the web UI have besides their own; its egress.internal lists the private ' +
        'hosts that these agents, their providers and their MCP servers may use',
    ),
  })
  .describe('changes in the web UI')
export type EditingConfig = z.infer<typeof EditingConfig>

/** Secrets are stored apart, so none of these schemas has one or names an environment variable. */
const models = z
  .record(z.string().regex(/^\S+$/, 'must not contain blanks'), Rates)
  .default({})
  .describe('models that people may choose, with their prices and limits')
const EditedProvider = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('openai'),
    base_url: z.url({ protocol: /^https?$/ }).default('https://api.openai.com/v1'),
    models,
  }),
  z.strictObject({
    kind: z.literal('anthropic'),
    base_url: z.url({ protocol: /^https?$/ }).default('https://api.anthropic.com'),
    models,
  }),
])
export type EditedProvider = z.infer<typeof EditedProvider>

const headerName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'must be the name of an HTTP header')
const EditedMcpServer = z.union([
  z.strictObject({
    url: z.url({ protocol: /^https?$/ }),
    headers: z.array(headerName).max(20).default([]).describe('names; their values are secrets'),
    read_only: z.array(z.string()).default([]),
    pin,
    max_answer_mb: maxAnswerMb,
  }),
  z.strictObject({
    command: z.string().min(1),
    args: z.array(z.string()).default([]),
    env: z.array(envName).max(50).default([]).describe('names of variables; their values are secrets'),
    read_only: z.array(z.string()).default([]),
    pin,
    max_answer_mb: maxAnswerMb,
    network: z.enum(['none', 'proxy', 'open']).optional(),
    egress: EgressConfig.prefault({}),
  }),
])
export type EditedMcpServer = z.infer<typeof EditedMcpServer>

const EditedSkill = z.strictObject({
  description: z.string().trim().min(1).max(1024),
  instructions: z.string().trim().min(1).max(200_000),
})
export type EditedSkill = z.infer<typeof EditedSkill>

const skillName = z
  .string()
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must contain only lower-case letters, digits and single hyphens')
  .max(64)
const settingName = name.max(64)

/** What can be edited: the schema of its settings and the form of its names. */
export const EDITED = {
  agent: { settings: AgentConfig, name: settingName },
  expert: { settings: ExpertConfig, name: settingName },
  provider: { settings: EditedProvider, name: settingName },
  mcp_server: { settings: EditedMcpServer, name: mcpServerName },
  skill: { settings: EditedSkill, name: skillName },
  default_model: { settings: z.strictObject({ model: modelName }), name: z.literal('default') },
} as const
export type SettingKind = keyof typeof EDITED
