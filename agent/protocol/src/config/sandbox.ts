/** The sandbox of commands. */
import { z } from 'zod'

export const SandboxConfig = z
  .strictObject({
    terminal: z
      .enum(['boxed', 'unboxed'])
      .default('boxed')
      .describe('`unboxed`: commands have the rights of this server; `boxed`: no terminal without a sandbox'),
    provider: z
      .enum(['bubblewrap', 'container'])
      .default('bubblewrap')
      .describe('how sandboxes are created; container: by Podman, without a browser'),
    runtime: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe(
        'OCI runtime, a name that Podman knows or a path; runsc is gVisor; null: the default of Podman',
      ),
    image: z
      .string()
      .regex(/^(?:[^@\s]+@)?sha256:[0-9a-f]{64}$/, 'must name an image by its digest: name@sha256:…')
      .nullable()
      .default(null)
      .describe('container image with bash, perl and coreutils; null: the programs of this machine'),
    network: z
      .enum(['none', 'proxy', 'open'])
      .default('proxy')
      .describe(
        'what a sandbox can reach. proxy: what governance.egress allows, through a proxy that checks every ' +
          'connection; open: everything that this machine can reach',
      ),
    ports: z
      .array(z.int().min(1).max(65_535))
      .default([])
      .describe('ports besides 80 and 443 that the proxy connects to'),
    memory_mb: z.int().min(64).default(2048).describe('max memory of all processes of a command'),
    pids: z.int().min(16).default(512).describe('max processes of a command at a time'),
    cpus: z
      .number()
      .positive()
      .default(2)
      .describe('max processors; applies only if a control group is delegated'),
    file_mb: z.int().positive().default(1024).describe('max size of one file that a command writes'),
    open_files: z.int().min(64).default(4096).describe('max open files of one process'),
    workspace_mb: z.int().positive().default(2048).describe('max disk space of a workspace'),
    workspace_files: z.int().positive().default(50_000).describe('max files and folders of a workspace'),
    tmp_mb: z.int().positive().default(512).describe('max size of /tmp in a sandbox; it uses memory'),
  })
  .refine(({ terminal, network }) => terminal === 'boxed' || network === 'open', {
    path: ['network'],
    error: 'must be open if sandbox.terminal is `unboxed`: such commands use the network of this machine',
  })
  .refine(({ provider, runtime, image }) => provider === 'container' || (runtime ?? image) === null, {
    path: ['provider'],
    error: 'must be container if sandbox.runtime or sandbox.image is set',
  })
  .describe('isolation and limits of terminal commands')
export type SandboxConfig = z.infer<typeof SandboxConfig>
