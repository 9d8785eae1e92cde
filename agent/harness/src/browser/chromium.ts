/** How Chromium is started: its flags, and the policy that binds whoever sits at it. */
import { existsSync } from 'node:fs'
import { FORWARDER_PORT } from '../sandbox/forwarder.ts'
import { COMMAND_PATH, findProgram } from '../sandbox/program.ts'

/** Debian's launcher is a shell script that reads more of /etc than a box shows; behind it is the program. */
const BEHIND: Readonly<Record<string, string>> = { '/usr/bin/chromium': '/usr/lib/chromium/chromium' }

/** The program to start, or null where there is none in a folder that boxes see. */
export function findChromium(name: string): string | null {
  const found = name.startsWith('/') ? (existsSync(name) ? name : null) : findProgram(name, COMMAND_PATH)
  if (found === null) return null
  const behind = BEHIND[found]
  return behind !== undefined && existsSync(behind) ? behind : found
}

export const CHROMIUM_FLAGS = [
  `--proxy-server=http://127.0.0.1:${FORWARDER_PORT}`,
  // Without this, Chromium connects to its own loopback past every proxy.
  '--proxy-bypass-list=<-loopback>',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-quic',
  '--no-pings',
  '--disable-crash-reporter',
]

/** Where Chromium reads the policies of its machine. */
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
