/**
 * Runs programs that are not trusted: commands, coding agents, browsers, MCP servers.
 *
 * provider    opens sandboxes: bubblewrap, a container engine, or none of the two
 * container   what ends every process of a sandbox: a control group, a namespace, a subreaper, tags
 * proxy       the only way from a sandbox to the network, which judges every connection
 */
export { chooseSandbox, type SandboxChoice, type SandboxStatus } from './choose.ts'
export { FORWARDER_PORT } from './forwarder.ts'
export { TemporaryFolderError } from './temporary-folder.ts'
export { createPolicyProxy, type OriginHandler, type PolicyProxy, type SandboxProxy } from './policy-proxy.ts'
export { COMMAND_PATH, findProgram } from './program.ts'
export {
  type Bind,
  type Exit,
  type Sandbox,
  sandboxId,
  type SandboxNetwork,
  type SandboxProcess,
  type SandboxProvider,
  type SandboxSpec,
  type Watch,
} from './sandbox.ts'
