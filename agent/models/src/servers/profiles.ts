/**
 * What model servers accept, as data: one row per kind of server with its documented rules. A row is chosen
 * by the protocol and the host of base_url. The catalogue and refusals (refusals.ts) override single facts.
 */
import type { ServerProfile } from '@cairn/protocol'

export type { ServerProfile }

/** Servers of unknown kind: vLLM, SGLang, llama.cpp, Ollama, LM Studio, LiteLLM and other gateways. */
const COMPATIBLE: ServerProfile = {
  vision: true,
  max_images: null,
  omitted_images: [],
  strict_roles: false,
  system_role: 'system',
  empty_call_content: 'null',
  // Accepted by OpenAI, vLLM and all gateways; ours are within it.
  tool_name_pattern: '^[a-zA-Z0-9_-]{1,64}$',
  // Chat templates of Kimi K2 need ids such as "functions.read_file:0" unchanged.
  tool_id_pattern: '^[!-~]{1,64}$',
  tool_id_length: 24,
  max_tools: null,
  max_description: null,
  omitted_keywords: [],
  keeps_reasoning: 'turn',
  thought_signatures: false,
  max_tokens_field: 'max_tokens',
  max_tokens_limit: null,
  thinking: 'adaptive',
  omitted_fields: [],
  omitted_tools: [],
}

const OPENAI: ServerProfile = {
  ...COMPATIBLE,
  tool_id_pattern: '^[!-~]{1,40}$',
  max_tools: 128,
  max_description: 1024,
  max_tokens_field: 'max_completion_tokens',
}

/** The profiles by name. */
export const PROFILES = {
  compatible: COMPATIBLE,
  openai: OPENAI,
  // Older versions of Azure's API do not know max_completion_tokens; newer models require it.
  azure: { ...OPENAI, max_tokens_field: 'max_tokens' },
  anthropic: { ...COMPATIBLE, tool_id_pattern: '^[a-zA-Z0-9_-]{1,64}$' },
  gemini: {
    ...COMPATIBLE,
    tool_name_pattern: '^[a-zA-Z_][a-zA-Z0-9_-]{0,62}$',
    max_tools: 128,
    thought_signatures: true,
  },
  mistral: {
    ...COMPATIBLE,
    max_images: 8,
    strict_roles: true,
    empty_call_content: 'empty',
    tool_id_pattern: '^[a-zA-Z0-9]{9}$',
    tool_id_length: 9,
    keeps_reasoning: 'none',
  },
  deepseek: { ...COMPATIBLE, vision: false, max_tools: 128, keeps_reasoning: 'all' },
  moonshot: {
    ...COMPATIBLE,
    tool_name_pattern: '^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$',
    max_tools: 128,
    keeps_reasoning: 'all',
  },
  groq: { ...COMPATIBLE, max_images: 5, max_tools: 128 },
  bedrock: {
    ...COMPATIBLE,
    max_images: 20,
    strict_roles: true,
    tool_name_pattern: '^[a-zA-Z][a-zA-Z0-9_-]{0,63}$',
    tool_id_pattern: '^[a-zA-Z0-9_-]{1,64}$',
  },
} as const satisfies Record<string, ServerProfile>

export type ProfileName = keyof typeof PROFILES

const HOSTS: readonly (readonly [RegExp, ProfileName])[] = [
  [/(^|\.)api\.openai\.com$/, 'openai'],
  [/\.(openai|services\.ai|cognitiveservices)\.azure\.com$/, 'azure'],
  [/^(generativelanguage|([a-z0-9-]+-)?aiplatform)\.googleapis\.com$/, 'gemini'],
  [/\.mistral\.ai$/, 'mistral'],
  [/\.deepseek\.com$/, 'deepseek'],
  [/\.moonshot\.(ai|cn)$/, 'moonshot'],
  [/\.groq\.com$/, 'groq'],
  [/^bedrock-[a-z-]+\.[a-z0-9-]+\.amazonaws\.com$/, 'bedrock'],
]

/** The profile of a server before anything is learned; `host`: whether its host chose it. */
export function profileOfServer(
  kind: 'openai' | 'anthropic',
  baseUrl: string,
): { name: ProfileName; host: boolean } {
  if (kind === 'anthropic') return { name: 'anthropic', host: false }
  const { hostname } = new URL(baseUrl)
  const found = HOSTS.find(([pattern]) => pattern.test(hostname))
  return found ? { name: found[1], host: true } : { name: 'compatible', host: false }
}
