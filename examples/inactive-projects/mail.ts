export interface Mail {
  /** The provider sends one mail per key, however often it is asked to. */
  key: string
  to: string
  subject: string
}

export interface MailSender {
  send(mail: Mail): Promise<void>
}

/** Stands for a mail provider that takes an idempotency key, as most do. */
export class FakeMailSender implements MailSender {
  readonly #sent = new Map<string, Mail>()
  asked = 0

  get sent(): Mail[] {
    return [...this.#sent.values()]
  }

  async send(mail: Mail): Promise<void> {
    this.asked += 1
    if (!this.#sent.has(mail.key)) this.#sent.set(mail.key, mail)
  }
}
