/** One protocol message with its header. Packets that open a connection carry no type byte; their type is ''. */
export interface Frame {
  type: string
  bytes: Buffer
}

export const CANCEL_REQUEST = 80877102
export const SSL_REQUEST = 80877103
export const GSS_REQUEST = 80877104

const requestsBeforeStartup = new Set([CANCEL_REQUEST, SSL_REQUEST, GSS_REQUEST])

/** Splits a byte stream into messages by reading nothing but their headers. */
export class Splitter {
  #opening: boolean
  #parts: Buffer[] = []
  #held = 0
  #wanted = 0

  constructor({ opening }: { opening: boolean }) {
    this.#opening = opening
  }

  push(chunk: Buffer): Frame[] {
    this.#parts.push(chunk)
    this.#held += chunk.length
    // Joining only when the next message is whole keeps a large row from being copied once per segment.
    if (this.#held < this.#wanted) return []
    const bytes = this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts, this.#held)
    const frames: Frame[] = []
    let at = 0
    for (;;) {
      const size = this.#sizeAt(bytes, at)
      this.#wanted = size
      if (at + size > bytes.length) break
      frames.push(this.#cut(bytes.subarray(at, at + size)))
      at += size
    }
    this.#held = bytes.length - at
    this.#parts = this.#held > 0 ? [bytes.subarray(at)] : []
    return frames
  }

  #sizeAt(bytes: Buffer, at: number): number {
    const typeBytes = this.#opening ? 0 : 1
    const header = typeBytes + 4
    if (bytes.length - at < header) return header
    return Math.max(header, typeBytes + bytes.readUInt32BE(at + typeBytes))
  }

  #cut(bytes: Buffer): Frame {
    if (!this.#opening) return { type: String.fromCharCode(bytes[0] ?? 0), bytes }
    this.#opening = bytes.length >= 8 && requestsBeforeStartup.has(bytes.readUInt32BE(4))
    return { type: '', bytes }
  }
}
