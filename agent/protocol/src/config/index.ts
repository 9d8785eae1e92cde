/**
 * The schema of cairn.yaml with its defaults. Every key is optional and an unknown key is an error;
 * `agent/app` reads the file and suggests the nearest known key. The file never holds secrets, only the names
 * of environment variables that do.
 */
import { z } from 'zod'
import { AgentConfig, ExpertConfig } from './agents.ts'
import { BrowserConfig } from './browser.ts'
import { DisclosureConfig, ChannelConfig } from './channels.ts'
import { CodeConfig } from './code.ts'
import { CompatConfig } from './compat.ts'
import { EditingConfig } from './editing.ts'
import { EgressConfig } from './governance.ts'
import { mcpServers } from './mcp.ts'
import { ProviderConfig, Rates } from './models.ts'
import { modelName, name } from './names.ts'
import { notificationsConfig } from './notifications.ts'
import { OtelConfig } from './otel.ts'
import { ResearchLevels } from './research.ts'
import { SandboxConfig } from './sandbox.ts'
import { SchedulesConfig } from './schedules.ts'

export * from './agents.ts'
export * from './browser.ts'
export * from './budget.ts'
export * from './code.ts'
export * from './editing.ts'
export * from './governance.ts'
export { McpServerConfig } from './mcp.ts'
export * from './models.ts'
export * from './sandbox.ts'
export * from './schedules.ts'

export const Config = z.strictObject({
  models: z
    .strictObject({
      default: modelName.optional(),
      providers: z.record(name, ProviderConfig).default({}),
      catalog: z.record(modelName, Rates).default({}),
    })
    .prefault({}),
  agents: z.record(name, AgentConfig).default({}),
  experts: z.record(name, ExpertConfig).default({}),
  governance: z
    .strictObject({
      log_allowed: z.boolean().default(false),
      service_accounts_decide: z
        .boolean()
        .default(true)
        .describe('whether service accounts may approve and reject; false: people only'),
    })
    .prefault({}),
  public_url: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .transform(url => url.replace(/\/$/, ''))
    .optional()
    .describe('URL of the web UI; links in emails and notifications begin with it'),
  otel: OtelConfig.optional().describe('absent: nothing is sent to OpenTelemetry'),
  disclosure: DisclosureConfig.prefault({}),
  channels: z
    .record(name, ChannelConfig)
    .default({})
    .describe('messaging channels, by a name that you choose'),
  notices: notificationsConfig(EgressConfig.prefault({}).describe('hosts that webhooks may call')).prefault(
    {},
  ),
  skills: z.string().optional().describe('a directory of skills, one folder with a SKILL.md each'),
  workspaces: z.string().min(1).optional().describe('a directory for workspaces, outside the data directory'),
  mcp_servers: mcpServers.default({}),
  editing: EditingConfig.prefault({}),
  sandbox: SandboxConfig.prefault({}),
  browser: BrowserConfig.prefault({}),
  schedules: SchedulesConfig.prefault({}),
  code: CodeConfig.prefault({}),
  compat: CompatConfig.prefault({}),
  research: ResearchLevels.prefault({}).describe(
    'branches without improvement until research is warned, redirected, ended',
  ),
  auth: z
    .strictObject({
      issuer: z.url().optional(),
      audience: z.string().optional(),
      jwks_url: z.url().optional(),
      trusted_proxies: z
        .array(
          z
            .string()
            .regex(/^[\da-fA-F.:]+(?:\/\d{1,3})?$/, 'must be an address or a network such as 10.0.0.0/8'),
        )
        .default([])
        .describe('addresses and networks whose X-Forwarded-For is trusted'),
      share_days: z
        .int()
        .min(0)
        .max(365)
        .default(0)
        .describe('days after which a share link of a session expires; 0: no share links'),
    })
    .prefault({}),
  limits: z
    .strictObject({
      llm_heartbeat_s: z
        .number()
        .positive()
        .default(15)
        .describe('seconds between the heartbeats that a silent model call records'),
      llm_stale_s: z.number().positive().default(180).describe('silence after which a model call is retried'),
      llm_stale_reasoning_s: z.number().positive().default(600).describe('the same for a reasoning model'),
      llm_call_s: z.number().positive().default(3600).describe('max duration of one model call'),
      llm_retries: z.int().min(0).max(10).default(3).describe('retries of a failed model call'),
      delta_coalesce_ms: z
        .number()
        .nonnegative()
        .default(40)
        .describe('time for which the chunks of an answer are collected into one event'),
      delta_keep_s: z
        .number()
        .nonnegative()
        .default(600)
        .describe('seconds that the chunks of a finished answer are kept; 0: forever'),
      lease_s: z
        .number()
        .positive()
        .default(60)
        .describe('seconds after which another runner claims the sessions of a dead one'),
      tool_timeout_s: z.number().positive().default(180).describe('max duration of a tool call'),
      input_wait_s: z
        .number()
        .positive()
        .default(600)
        .describe('time that a call of an MCP tool waits for the answer to a question of its server'),
      concurrent_turns: z.int().positive().default(50).describe('max turns that one process runs at a time'),
      tree_parallel: z
        .int()
        .positive()
        .default(8)
        .describe('max workers of one session tree that run at a time; others wait'),
      principal_turns: z
        .int()
        .positive()
        .nullable()
        .default(null)
        .describe('max turns of one user or service account that run at a time; null: no limit'),
      child_share: z
        .number()
        .positive()
        .max(1)
        .default(0.75)
        .describe('share of concurrent_turns that workers may use; at least one turn'),
      requests_per_minute: z
        .int()
        .positive()
        .default(6000)
        .describe('max requests of one user or service account per minute to one process'),
      streams_per_principal: z
        .int()
        .positive()
        .default(1000)
        .describe('max open event streams of one user or service account in one process'),
      delegation_stale_s: z
        .number()
        .positive()
        .default(60)
        .describe('idle time after which a delegated worker is reported in the log of its parent'),
      delegation_stale_tool_s: z.number().positive().default(180).describe('the same while it runs a tool'),
      drain_s: z
        .number()
        .nonnegative()
        .default(20)
        .describe('seconds that running turns get to stop when the process is asked to end'),
      archive_grace_s: z
        .number()
        .positive()
        .default(30)
        .describe('seconds that the files of an archived session are kept after a process finds it archived'),
      compact_at: z
        .number()
        .positive()
        .max(1)
        .default(0.75)
        .describe('share of the context window at which a conversation is summarised'),
    })
    .prefault({}),
})
export type Config = z.infer<typeof Config>
export type ConfigInput = z.input<typeof Config>
