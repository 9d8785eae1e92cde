// The calls of the frame, and its stream.

/** One conversation with the service; `begin` opens it. */
export function createService(key) {
  let session = null
  let token = null

  const call = async (path, { method = 'POST', body, file, headers = {}, signal } = {}) => {
    const response = await fetch(`/v1/website/${path}`, {
      method,
      credentials: 'same-origin',
      signal,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(session === null ? {} : { 'x-cairn-csrf': session.csrf }),
        ...(token === null ? {} : { authorization: `Visitor ${token}` }),
        ...headers,
      },
      ...(file === undefined ? {} : { body: file }),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (response.ok) return response
    const problem = await response.json().catch(() => ({}))
    throw Object.assign(new Error(problem.detail ?? response.statusText), {
      code: problem.code,
      status: response.status,
    })
  }
  const at = rest => `sessions/${session.session_id}/${rest}`

  return {
    async begin(how) {
      const response = await call('sessions', {
        body: { key, ...how, ...(token === null ? {} : { no_cookies: true }) },
      })
      session = await response.json()
      // Where the browser keeps no cookie of a frame, the service does not know us: then the token is in memory.
      const known = await call(at('events?after=0'), { method: 'GET' }).catch(error => error)
      if (known instanceof Error && known.status === 404 && token === null) {
        session = await (await call('sessions', { body: { key, ...how, no_cookies: true } })).json()
        token = session.token
      } else if (known instanceof Error) throw known
      else await known.body.cancel()
      return session
    },
    say: (content, uploads, id) =>
      call(at('messages'), { body: { content, uploads }, headers: { 'idempotency-key': id } }),
    upload: async file => (await call(at(`uploads?name=${encodeURIComponent(file.name)}`), { file })).json(),
    answer: (callId, responses) =>
      call(at(`questions/${encodeURIComponent(callId)}/respond`), { body: { responses } }),
    stop: () => call(at('stop')),
    end: () => call(at('end')),
    confirm: () => call(at('confirm-disclosure')),

    /** Every record after `after`, once, until the signal; `onLost` between two connections. */
    async follow(after, signal, onRecord, onLost) {
      for (let tries = 0; !signal.aborted; tries++) {
        try {
          const response = await call(at(`events?after=${after}`), { method: 'GET', signal })
          for await (const { type, data } of framesOf(response.body)) {
            tries = 0
            if (data.id !== undefined) after = data.id
            onRecord(type, data)
            if (type === 'state' && data.ended) return
          }
        } catch (error) {
          if (signal.aborted) return
          if (error.status === 404) throw error
        }
        onLost()
        await new Promise(resolve =>
          setTimeout(resolve, Math.min(15_000, 500 * 2 ** tries) * (0.5 + Math.random())),
        )
      }
    },
  }
}

async function* framesOf(body) {
  let rest = ''
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    rest += text
    for (let end; (end = rest.indexOf('\n\n')) >= 0; rest = rest.slice(end + 2)) {
      const lines = rest.slice(0, end).split('\n')
      const data = lines.find(line => line.startsWith('data: '))
      const type = lines.find(line => line.startsWith('event: '))
      if (data !== undefined && type !== undefined)
        yield { type: type.slice(7), data: JSON.parse(data.slice(6)) }
    }
  }
}
