/** How a runner gets browsers: a sandboxed Chromium each, or a connection to a remote one. */
import type { Config } from '@cairn/protocol'
import type { Clock } from '@cairn/models/clock'
import { type Launched, launchBrowser, type LaunchOptions } from './launch.ts'
import { connectBrowser } from './remote.ts'
import type { BrowserSecrets } from './sensitive-fields.ts'
import type { SessionBrowser } from './session-browser.ts'

/** `id` is the browser's id. Rejects with a sentence if none could be started. */
export type OpenBrowser = (
  asked: { id: string } & Pick<LaunchOptions, 'session_id' | 'egress' | 'storage'>,
) => Promise<SessionBrowser>

type CommonParts = Pick<LaunchOptions, 'makeFolder'> & { secrets: BrowserSecrets; clock: Clock }
export type SandboxedBrowserParts = CommonParts &
  Pick<LaunchOptions, 'provider' | 'proxy' | 'program'> & { config: Pick<Config['browser'], 'memory_mb'> }

export const openSandboxedBrowser = ({ config, ...parts }: SandboxedBrowserParts): OpenBrowser =>
  openWith(asked => launchBrowser({ ...parts, ...asked, memory_mb: config.memory_mb }), parts)

export const openRemoteBrowser = ({ url, ...parts }: CommonParts & { url: string }): OpenBrowser =>
  openWith(asked => connectBrowser({ ...parts, ...asked, url }), parts)

const openWith =
  (launch: (asked: Parameters<OpenBrowser>[0]) => Promise<Launched>, parts: CommonParts): OpenBrowser =>
  async asked => {
    const launched = await launch(asked)
    try {
      // Loaded with the first browser: it is driven by an MCP server, whose SDK takes about 5 MB.
      const { openSessionBrowser } = await import('./session-browser.ts')
      return await openSessionBrowser(asked.id, asked.session_id, launched, parts)
    } catch (error) {
      await launched.close()
      throw error
    }
  }
