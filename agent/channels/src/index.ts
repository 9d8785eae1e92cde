/**
 * Messaging channels: two readers of what is durable already.
 *
 * connection  one account on one platform, as the configuration names it
 * adapter     what is particular to a platform: its signatures, its messages, its calls
 * inbound     an event of a platform, a row on disk before the platform is told so
 * accept      the commit that makes a message of an inbound row
 * part        what one call sends; the log is the outbox, and a part's key is the same at every attempt
 * notice      what the channel itself says, without a session: a refusal, a status; in inbox-notices/, what
 *             waits in the inbox, told to a person
 */
export { checkChannels } from './check-channels.ts'
export { followPageSecrets } from './page-secrets.ts'
export { secretsOf } from './platforms.ts'
export { startInboxNotices } from './inbox-notices/start.ts'
export { openWays } from './inbox-notices/ways.ts'
export { wait } from './wait.ts'
export { startChannels, type Channels, type ChannelsOptions } from './start.ts'
