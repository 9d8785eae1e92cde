/**
 * Secrets that are recognisable by a prefix: one row per vendor. `source` documents the format: the vendor's
 * own page, or the rule of a scanner (gitleaks, MIT; secretlint, MIT; kingfisher, Apache-2.0). The redactor,
 * its pre-filter and the stream redactor all derive from this table.
 *
 * Every character that a rule may remove is one of `[A-Za-z0-9._~+/=-]`: no space, quote or sign that a shell
 * interprets, so that at most one word of a command is removed.
 */
export type PrefixRule = {
  of: string
  /** Literal prefixes; the rest is at least `min` characters of `body`, or matches `rest` exactly. */
  prefixes: readonly string[]
  body: string
  min: number
  rest?: string
  /** The prefix is inside the secret, so the character before it does not matter. */
  anywhere?: true
  source: string
}

const WORD = '[A-Za-z0-9_-]'
const ALNUM = '[A-Za-z0-9]'
const HEX = '[0-9a-fA-F]'
const BASE64 = '[A-Za-z0-9+/=]'

export const PREFIX_RULES: readonly PrefixRule[] = [
  // Our own: service accounts, refresh tokens, login links.
  { of: 'Cairn', prefixes: ['cairn_sk_'], body: WORD, min: 16, source: 'agent/api/src/auth/issue.ts' },
  {
    of: 'Cairn',
    prefixes: ['cairn_run_'],
    body: WORD,
    min: 16,
    source: 'agent/harness/src/capabilities/code/broker.ts',
  },
  {
    of: 'Cairn',
    prefixes: ['cairn_rt_'],
    body: '[A-Za-z0-9_.-]',
    min: 16,
    source: 'agent/api/src/auth/logins.ts',
  },
  { of: 'Cairn', prefixes: ['cairn_ll_'], body: WORD, min: 16, source: 'agent/api/src/auth/issue.ts' },
  { of: 'Cairn', prefixes: ['cairn_sl_'], body: WORD, min: 16, source: 'agent/api/src/routes/shares.ts' },

  // Model providers.
  {
    of: 'OpenAI, Anthropic, OpenRouter and others',
    prefixes: ['sk-'],
    body: WORD,
    min: 16,
    source: 'gitleaks openai.go, anthropic.go',
  },
  { of: 'Groq', prefixes: ['gsk_'], body: ALNUM, min: 40, source: 'secretlint rule-groq' },
  { of: 'xAI', prefixes: ['xai-'], body: ALNUM, min: 40, source: 'keys as they are issued' },
  { of: 'Perplexity', prefixes: ['pplx-'], body: ALNUM, min: 40, source: 'gitleaks perplexity.go' },
  { of: 'Replicate', prefixes: ['r8_'], body: ALNUM, min: 32, source: 'keys as they are issued' },
  {
    of: 'Hugging Face',
    prefixes: ['hf_', 'api_org_'],
    body: ALNUM,
    min: 30,
    source: 'https://huggingface.co/docs/hub/security-tokens',
  },
  { of: 'NVIDIA', prefixes: ['nvapi-'], body: WORD, min: 40, source: 'kingfisher nvidia.yml' },
  { of: 'Cerebras', prefixes: ['csk-'], body: '[a-z0-9]', min: 40, source: 'kingfisher cerebras.yml' },
  { of: 'Pinecone', prefixes: ['pcsk_'], body: '[A-Za-z0-9_]', min: 40, source: 'kingfisher pinecone.yml' },
  { of: 'LangSmith', prefixes: ['lsv2_'], body: '[A-Za-z0-9_]', min: 30, source: 'kingfisher langchain.yml' },
  { of: 'Tavily', prefixes: ['tvly-'], body: WORD, min: 20, source: 'kingfisher tavily.yml' },
  {
    of: 'ElevenLabs',
    prefixes: ['sk_'],
    body: '[0-9a-f]',
    min: 48,
    rest: '[0-9a-f]{48}(?![A-Za-z0-9])',
    source: 'kingfisher elevenlabs.yml',
  },
  {
    of: 'Fireworks',
    prefixes: ['fw_'],
    body: ALNUM,
    min: 22,
    rest: `(?=[A-Za-z]*\\d)${ALNUM}{22,}`,
    source: 'kingfisher fireworks.yml',
  },
  {
    of: 'Voyage',
    prefixes: ['pa-'],
    body: WORD,
    min: 43,
    rest: `(?=[A-Za-z_-]*\\d)(?=[a-z0-9_-]*[A-Z])${WORD}{43}(?!${WORD})`,
    source: 'kingfisher voyageai.yml',
  },

  // Code and packages.
  {
    of: 'GitHub',
    prefixes: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'],
    body: ALNUM,
    min: 20,
    source: 'https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/',
  },
  {
    of: 'GitHub',
    prefixes: ['github_pat_'],
    body: '[A-Za-z0-9_]',
    min: 20,
    source: 'gitleaks github.go',
  },
  {
    of: 'GitLab',
    prefixes: [
      'glpat-',
      'gldt-',
      'glrt-',
      'glptt-',
      'glft-',
      'glimt-',
      'glagent-',
      'gloas-',
      'glsoat-',
      'glffct-',
      'glcbt-',
    ],
    body: '[A-Za-z0-9_.-]',
    min: 16,
    source: 'https://docs.gitlab.com/security/tokens/#token-prefixes',
  },
  {
    of: 'npm',
    prefixes: ['npm_'],
    body: ALNUM,
    min: 36,
    source: 'https://github.blog/2021-09-23-announcing-npms-new-access-token-format/',
  },
  { of: 'PyPI', prefixes: ['pypi-Ag'], body: WORD, min: 40, source: 'https://pypi.org/help/#apitoken' },
  { of: 'RubyGems', prefixes: ['rubygems_'], body: HEX, min: 48, source: 'gitleaks rubygems.go' },
  { of: 'Docker', prefixes: ['dckr_pat_'], body: WORD, min: 20, source: 'secretlint rule-docker' },
  { of: 'Clojars', prefixes: ['CLOJARS_'], body: ALNUM, min: 60, source: 'gitleaks clojars.go' },
  { of: 'Artifactory', prefixes: ['AKCp'], body: ALNUM, min: 60, source: 'gitleaks artifactory.go' },
  { of: 'Sourcegraph', prefixes: ['sgp_'], body: '[0-9a-z_]', min: 40, source: 'gitleaks sourcegraph.go' },
  { of: 'Postman', prefixes: ['PMAK-'], body: '[0-9a-f-]', min: 50, source: 'gitleaks postman.go' },
  { of: 'Linear', prefixes: ['lin_api_'], body: ALNUM, min: 40, source: 'gitleaks linear.go' },
  { of: 'Atlassian', prefixes: ['ATATT3'], body: '[A-Za-z0-9_=-]', min: 60, source: 'gitleaks atlassian.go' },
  {
    of: 'Cursor',
    prefixes: ['key_'],
    body: '[0-9a-f]',
    min: 64,
    rest: '[0-9a-f]{64}(?![A-Za-z0-9])',
    source: 'keys as they are issued',
  },
  {
    of: 'Bitbucket',
    prefixes: ['ATBB', 'ATCTT3'],
    body: '[A-Za-z0-9_=-]',
    min: 28,
    source: 'https://support.atlassian.com/bitbucket-cloud/docs/app-passwords/',
  },
  {
    of: 'crates.io',
    prefixes: ['cio'],
    body: ALNUM,
    min: 32,
    rest: `(?=[A-Za-z]*\\d)${ALNUM}{32}(?!${ALNUM})`,
    source: 'kingfisher crates.io.yml',
  },

  // Clouds and hosting.
  {
    of: 'AWS key ids',
    prefixes: ['AKIA', 'ASIA', 'ABIA', 'ACCA'],
    body: '[A-Z0-9]',
    min: 16,
    rest: '[A-Z0-9]{16}(?![A-Za-z0-9])',
    source: 'https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html',
  },
  { of: 'AWS Bedrock', prefixes: ['ABSK'], body: BASE64, min: 100, source: 'gitleaks aws.go' },
  {
    of: 'Google',
    prefixes: ['AIza'],
    body: WORD,
    min: 35,
    source: 'https://cloud.google.com/docs/authentication/api-keys',
  },
  {
    of: 'Google OAuth',
    prefixes: ['ya29.', 'GOCSPX-', '1//0'],
    body: WORD,
    min: 20,
    source: 'https://developers.google.com/identity/protocols/oauth2',
  },
  {
    of: 'Azure client secrets',
    prefixes: ['Q~'],
    body: '[A-Za-z0-9_~.-]',
    min: 31,
    anywhere: true,
    source: 'gitleaks azure.go',
  },
  {
    of: 'DigitalOcean',
    prefixes: ['dop_v1_', 'doo_v1_', 'dor_v1_'],
    body: HEX,
    min: 40,
    source: 'https://docs.digitalocean.com/reference/api/oauth',
  },
  { of: 'Alibaba', prefixes: ['LTAI'], body: ALNUM, min: 20, source: 'gitleaks alibaba.go' },
  { of: 'Cloudflare', prefixes: ['v1.0-'], body: '[0-9a-f-]', min: 100, source: 'gitleaks cloudflare.go' },
  { of: 'Heroku', prefixes: ['HRKU-AA'], body: WORD, min: 40, source: 'gitleaks heroku.go' },
  { of: 'Fly', prefixes: ['fo1_'], body: WORD, min: 40, source: 'gitleaks flyio.go' },
  { of: 'Fly', prefixes: ['fm1a_', 'fm1r_', 'fm2_'], body: BASE64, min: 100, source: 'gitleaks flyio.go' },
  {
    of: 'Supabase',
    prefixes: ['sbp_', 'sb_secret_'],
    body: WORD,
    min: 31,
    source: 'kingfisher supabase.yml',
  },
  { of: 'Databricks', prefixes: ['dapi'], body: '[0-9a-f]', min: 32, source: 'gitleaks databricks.go' },
  {
    of: 'PlanetScale',
    prefixes: ['pscale_tkn_', 'pscale_pw_', 'pscale_oauth_'],
    body: '[A-Za-z0-9_=.-]',
    min: 32,
    source: 'gitleaks planetscale.go',
  },
  { of: 'Pulumi', prefixes: ['pul-'], body: '[0-9a-f]', min: 40, source: 'gitleaks pulumi.go' },
  {
    of: 'HashiCorp Vault',
    prefixes: ['hvs.', 'hvb.', 'hvr.'],
    body: WORD,
    min: 20,
    source: 'https://developer.hashicorp.com/vault/docs/concepts/tokens',
  },
  {
    of: 'HashiCorp Terraform',
    prefixes: ['atlasv1.'],
    body: '[A-Za-z0-9_=-]',
    min: 60,
    anywhere: true,
    source: 'gitleaks hashicorp.go',
  },
  {
    of: 'Doppler',
    prefixes: ['dp.pt.', 'dp.st.', 'dp.ct.', 'dp.sa.', 'dp.scim.', 'dp.audit.'],
    body: ALNUM,
    min: 40,
    source: 'gitleaks doppler.go',
  },
  {
    of: 'Tailscale',
    prefixes: ['tskey-'],
    body: WORD,
    min: 20,
    source: 'https://tailscale.com/kb/1277/key-prefixes',
  },
  { of: 'OpenShift', prefixes: ['sha256~'], body: WORD, min: 43, source: 'gitleaks openshift.go' },
  {
    of: '1Password',
    prefixes: ['ops_eyJ'],
    body: BASE64,
    min: 100,
    source: 'gitleaks 1password.go',
  },
  {
    of: 'age',
    prefixes: ['AGE-SECRET-KEY-1'],
    body: '[A-Z0-9]',
    min: 50,
    source: 'gitleaks age.go',
  },
  { of: 'Neon', prefixes: ['napi_'], body: '[a-z0-9]', min: 40, source: 'kingfisher neon.yml' },
  {
    of: 'Netlify',
    prefixes: ['nfp_', 'nfc_', 'nfo_', 'nfb_', 'nfu_'],
    body: '[A-Za-z0-9_]',
    min: 36,
    source: 'https://docs.netlify.com/api/get-started/',
  },
  { of: 'Render', prefixes: ['rnd_'], body: ALNUM, min: 28, source: 'kingfisher render.yml' },
  {
    of: 'Vercel',
    prefixes: ['vcp_', 'vci_', 'vca_', 'vcr_', 'vck_'],
    body: ALNUM,
    min: 24,
    source: 'https://vercel.com/changelog',
  },

  // Payment and messaging.
  {
    of: 'Stripe',
    prefixes: ['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_'],
    body: ALNUM,
    min: 16,
    source: 'https://docs.stripe.com/keys',
  },
  {
    of: 'Stripe and Svix webhooks',
    prefixes: ['whsec_'],
    body: BASE64,
    min: 24,
    source: 'https://docs.stripe.com/webhooks',
  },
  { of: 'Square', prefixes: ['sq0atp-', 'sq0csp-'], body: WORD, min: 22, source: 'gitleaks square.go' },
  {
    of: 'Shopify',
    prefixes: ['shpat_', 'shpca_', 'shppa_', 'shpss_'],
    body: HEX,
    min: 32,
    source: 'https://shopify.dev/changelog/length-of-the-shopify-access-token-is-increasing',
  },
  { of: 'Flutterwave', prefixes: ['FLWSECK'], body: WORD, min: 20, source: 'gitleaks flutterwave.go' },
  { of: 'EasyPost', prefixes: ['EZAK', 'EZTK'], body: ALNUM, min: 54, source: 'gitleaks easypost.go' },
  {
    of: 'Shippo',
    prefixes: ['shippo_live_', 'shippo_test_'],
    body: HEX,
    min: 40,
    source: 'gitleaks shippo.go',
  },
  {
    of: 'SendGrid',
    prefixes: ['SG.'],
    body: '[A-Za-z0-9_.=-]',
    min: 60,
    source: 'https://www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys',
  },
  { of: 'Brevo', prefixes: ['xkeysib-'], body: '[A-Za-z0-9-]', min: 64, source: 'gitleaks sendinblue.go' },
  {
    of: 'Slack',
    prefixes: ['xoxa-', 'xoxb-', 'xoxc-', 'xoxd-', 'xoxe-', 'xoxo-', 'xoxp-', 'xoxr-', 'xoxs-', 'xapp-'],
    body: '[A-Za-z0-9-]',
    min: 10,
    source: 'https://docs.slack.dev/authentication/tokens',
  },
  {
    of: 'Slack webhooks',
    prefixes: ['hooks.slack.com/services/', 'hooks.slack.com/workflows/', 'hooks.slack.com/triggers/'],
    body: '[A-Za-z0-9/]',
    min: 20,
    anywhere: true,
    source: 'https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks',
  },
  {
    of: 'Discord webhooks',
    prefixes: ['discord.com/api/webhooks/', 'discordapp.com/api/webhooks/'],
    body: '[A-Za-z0-9/_-]',
    min: 40,
    anywhere: true,
    source: 'https://docs.discord.com/developers/resources/webhook',
  },
  {
    of: 'Telegram bots',
    prefixes: [':AA'],
    body: WORD,
    min: 32,
    anywhere: true,
    source: 'https://core.telegram.org/bots/api#authorizing-your-bot',
  },
  {
    of: 'Resend',
    prefixes: ['re_'],
    body: '[A-Za-z0-9_]',
    min: 28,
    rest: `(?=\\w*\\d)${ALNUM}{6,12}_${ALNUM}{20,}`,
    source: 'kingfisher resend.yml',
  },
  {
    of: 'Twilio',
    prefixes: ['SK'],
    body: '[0-9a-f]',
    min: 32,
    rest: '[0-9a-f]{32}(?![A-Za-z0-9])',
    source: 'gitleaks twilio.go',
  },
  {
    of: 'Mailgun',
    prefixes: ['key-'],
    body: '[0-9a-f]',
    min: 32,
    rest: '[0-9a-f]{32}(?![A-Za-z0-9])',
    source: 'gitleaks mailgun.go',
  },
  {
    of: 'Discord bots',
    // Base64 of the first two digits of the id that starts every token.
    prefixes: ['MT', 'Mj', 'Mz', 'ND', 'NT', 'Nj', 'Nz', 'OD', 'OT'],
    body: '[A-Za-z0-9_.-]',
    min: 55,
    rest: `${WORD}{20,28}\\.${WORD}{6}\\.${WORD}{27,}`,
    source: 'https://docs.discord.com/developers/reference#authentication',
  },

  // Data, design, observability.
  { of: 'Notion', prefixes: ['ntn_'], body: ALNUM, min: 40, source: 'gitleaks notion.go' },
  {
    of: 'Notion',
    prefixes: ['secret_'],
    body: ALNUM,
    min: 43,
    rest: `${ALNUM}{43}(?!${ALNUM})`,
    source: 'gitleaks notion.go',
  },
  { of: 'Figma', prefixes: ['figd_'], body: WORD, min: 30, source: 'secretlint rule-figma' },
  {
    of: 'Sentry',
    prefixes: ['sntrys_', 'sntryu_'],
    body: '[A-Za-z0-9+/=_]',
    min: 40,
    source: 'gitleaks sentry.go',
  },
  { of: 'Grafana', prefixes: ['glsa_'], body: '[A-Za-z0-9_]', min: 40, source: 'gitleaks grafana.go' },
  { of: 'Grafana', prefixes: ['glc_'], body: BASE64, min: 32, source: 'gitleaks grafana.go' },
  { of: 'New Relic', prefixes: ['NRAK-'], body: '[A-Z0-9]', min: 27, source: 'gitleaks newrelic.go' },
  { of: 'Dynatrace', prefixes: ['dt0c01.'], body: '[A-Za-z0-9.]', min: 80, source: 'gitleaks dynatrace.go' },
  { of: 'Prefect', prefixes: ['pnu_'], body: ALNUM, min: 36, source: 'gitleaks prefect.go' },
  { of: 'ReadMe', prefixes: ['rdme_'], body: '[a-z0-9]', min: 70, source: 'gitleaks readme.go' },
  {
    of: 'Duffel',
    prefixes: ['duffel_live_', 'duffel_test_'],
    body: '[A-Za-z0-9_=-]',
    min: 40,
    source: 'gitleaks duffel.go',
  },

  // Any issuer.
  {
    of: 'JSON Web Tokens',
    prefixes: ['eyJ'],
    body: '[A-Za-z0-9_.-]',
    min: 12,
    rest: String.raw`[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*`,
    source: 'https://www.rfc-editor.org/rfc/rfc7519',
  },
]
