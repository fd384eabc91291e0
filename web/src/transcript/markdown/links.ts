// Where links and pictures of a markdown text may lead. Everything in such a text was written by a model, a tool or a web
// page, so only what is known to be harmless becomes a link: the rest stays text.

export type Target =
  | { kind: 'web'; href: string; host: string }
  | { kind: 'session'; id: string }
  | { kind: 'stored'; ref: string }
  | { kind: 'text' }

const SESSION = /^(?:ostler:\/\/|\/)?(?:sessions|s)\/(sess_[0-9a-f]{32})$/

/** Where a link leads. */
export function target(href: string): Target {
  const session = SESSION.exec(href)
  if (session) return { kind: 'session', id: session[1]! }
  if (isStored(href)) return { kind: 'stored', ref: href }
  const url = parse(href)
  if (!url || !['http:', 'https:', 'mailto:'].includes(url.protocol)) return { kind: 'text' }
  // A name and a password before the host are there to mislead.
  if (url.username !== '' || url.password !== '') return { kind: 'text' }
  return { kind: 'web', href: url.href, host: url.host || url.pathname }
}

/** A picture that stands in the text itself and cannot run anything. */
export function isDataPicture(href: string): boolean {
  return /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/.test(href)
}

/** Whether a reference names a file that the session keeps. */
export function isStored(ref: string): boolean {
  return (
    /^(?:attachments\/[^/]+|artifacts\/[^/]+\/[^/]+)$/.test(ref) &&
    !/(^|\/)\.\.?(\/|$)/.test(ref) &&
    !/[\\?#]/.test(ref)
  )
}

/** The address of a file that the session keeps. */
export function storedAddress(sessionId: string, ref: string): string | null {
  if (!isStored(ref)) return null
  return `/v1/sessions/${encodeURIComponent(sessionId)}/${ref.split('/').map(encodeURIComponent).join('/')}`
}

function parse(href: string): URL | null {
  // Relative addresses are paths of the workspace, which is not served.
  if (!/^[a-z][a-z0-9+.-]*:/i.test(href.trim())) return null
  try {
    return new URL(href.trim())
  } catch {
    return null
  }
}
