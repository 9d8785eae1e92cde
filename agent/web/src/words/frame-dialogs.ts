/** Parts of the frame that are loaded on demand: how to connect a model, the sandbox. */

export const connectWords = {
  title: 'Connect a model',
  connect: 'Connect here',
  text:
    'Administrators connect a model under Agents, without a restart. Or add a provider to {file}, set its ' +
    'key in the environment and restart the service. {command} writes a file with comments.',
  variables:
    'The service reads the key from the variable that api_key_env names. Any server with the protocol of ' +
    'OpenAI or Anthropic works, including local ones.',
  copy: 'Copy example',
  example: `models:
  default: anthropic/claude-sonnet-4-5
  providers:
    anthropic: {kind: anthropic, api_key_env: ANTHROPIC_API_KEY}
`,
}

export const sandboxWords = {
  heads: { unboxed: 'No sandbox: commands run on this machine', not_offered: 'No terminal' },
  details: 'Details',
}
