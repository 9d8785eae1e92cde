/**
 * Messaging channels: one loop reads stored inbound events, another delivers from the log.
 *
 * connection  one account on one platform, as configured
 * adapter     the platform-specific part: signatures, messages, calls
 * inbound     an event of a platform, stored as a row before it is acknowledged to the platform
 * accept      the commit that turns an inbound row into a message
 * part        the content of one call; the log is the outbox, and a part's key is the same at every attempt
 * automatic reply  a message of the channel itself, without a session: a refusal, a status
 * notification     in inbox-notifications/: a message to a person about an inbox item
 */
export { checkChannels } from './check-channels.ts'
export { followPageSecrets } from './page-secrets.ts'
export { secretsOf } from './platforms.ts'
export { startInboxNotifications } from './inbox-notifications/start.ts'
export { openWays } from './inbox-notifications/ways.ts'
export { wait } from './wait.ts'
export { startChannels, type Channels, type ChannelsOptions } from './start.ts'
