// The health check of the image: exit code 0 if the service is ready to receive requests.
const url = `http://127.0.0.1:${process.env.PORT || 8787}/readyz`
try {
  const response = await fetch(url, { signal: AbortSignal.timeout(2500) })
  if (!response.ok) throw new Error(`status ${response.status}: ${await response.text()}`)
} catch (error) {
  const { message, cause } = error
  console.error(`GET ${url}: ${cause?.message ?? message}`)
  process.exitCode = 1
}
