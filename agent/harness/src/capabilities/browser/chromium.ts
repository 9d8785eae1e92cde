/** How Chromium is started: its flags, and the policy that applies to anyone who controls it. */
import { existsSync } from 'node:fs'
import { FORWARDER_PORT, COMMAND_PATH, findProgram } from '@cairn/sandbox'

/**
 * Debian's launcher is a shell script that reads more of /etc than a sandbox exposes; this maps it to the
 * real program.
 */
const BEHIND: Readonly<Record<string, string>> = { '/usr/bin/chromium': '/usr/lib/chromium/chromium' }

/** The program to start; null if none is in a folder that sandboxes can see. */
export function findChromium(name: string): string | null {
  const found = name.startsWith('/') ? (existsSync(name) ? name : null) : findProgram(name, COMMAND_PATH)
  if (found === null) return null
  const behind = BEHIND[found]
  return behind !== undefined && existsSync(behind) ? behind : found
}

export const CHROMIUM_FLAGS = [
  `--proxy-server=http://127.0.0.1:${FORWARDER_PORT}`,
  // Without this, Chromium bypasses every proxy for its own loopback.
  '--proxy-bypass-list=<-loopback>',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-quic',
  '--no-pings',
  '--disable-crash-reporter',
]

/**
 * Chromium preloads the popups of its address bar as pages of their own. The policy blocks their addresses,
 * and a blocked one appears as a tab that never closes.
 */
export const DISABLED_FEATURES = ['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup']

/** The path of Chromium's managed policies. */
export const POLICY_FILE = '/etc/chromium/policies/managed/cairn.json'

const DENY = 2

export const CHROMIUM_POLICY = {
  URLBlocklist: ['file://*', 'chrome://*', 'view-source:*', 'devtools://*'],
  AudioCaptureAllowed: false,
  VideoCaptureAllowed: false,
  ScreenCaptureAllowed: false,
  DefaultGeolocationSetting: DENY,
  DefaultClipboardSetting: DENY,
  DefaultNotificationsSetting: DENY,
  DefaultSensorsSetting: DENY,
  DefaultSerialGuardSetting: DENY,
  DefaultWebBluetoothGuardSetting: DENY,
  DefaultWebHidGuardSetting: DENY,
  DefaultWebUsbGuardSetting: DENY,
  PasswordManagerEnabled: false,
  AutofillAddressEnabled: false,
  AutofillCreditCardEnabled: false,
  BrowserSignin: 0,
  SyncDisabled: true,
  MetricsReportingEnabled: false,
  ComponentUpdatesEnabled: false,
  SafeBrowsingProtectionLevel: 0,
  NetworkPredictionOptions: DENY,
  BuiltInDnsClientEnabled: false,
  DnsOverHttpsMode: 'off',
  TranslateEnabled: false,
}
