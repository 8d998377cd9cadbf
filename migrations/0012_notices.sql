-- +goose Up

-- What people outside are told of approval requests. A row is written by the statement that makes the change it tells of. A reminder or an
-- escalation is written with its request, and has not happened before its time has come: a relay finds that out, by this clock.
CREATE TABLE notices (
    approval_id text        NOT NULL,
    kind        text        NOT NULL,
    -- Which step of the escalation or which approval of several it is, from 1; 0 where there is one at the most.
    number      integer     NOT NULL DEFAULT 0,
    -- What receivers tell a notice by that comes twice: derived, so that it is the same whoever writes it. It has no dot, for signatures are
    -- over id.time.body.
    notice_id   text        NOT NULL GENERATED ALWAYS AS (
        replace(approval_id, '.', '_') || '_' || kind || CASE WHEN number = 0 THEN '' ELSE '_' || number::text END
    ) STORED,
    -- When it happened, or is to happen.
    at          timestamptz NOT NULL DEFAULT now(),
    happened    boolean     NOT NULL DEFAULT true,
    -- Who decided what, why, and what the answer was, where it tells of a decision.
    approver    text        NOT NULL DEFAULT '',
    decision    text        NOT NULL DEFAULT '',
    reason      text        NOT NULL DEFAULT '',
    remark      text        NOT NULL DEFAULT '',
    -- When a worker took it on for all notifiers that there are.
    spread_at   timestamptz,
    CONSTRAINT notices_pkey PRIMARY KEY (notice_id),
    CONSTRAINT notices_of_approval FOREIGN KEY (approval_id) REFERENCES approvals ON DELETE CASCADE,
    CONSTRAINT notices_kind_known CHECK (kind IN ('requested', 'reminded', 'escalated', 'voted', 'decided', 'expired', 'closed')),
    CONSTRAINT notices_number_counts CHECK (number >= 0),
    CONSTRAINT notices_only_time_is_waited_for CHECK (happened OR kind IN ('reminded', 'escalated') AND spread_at IS NULL)
);

CREATE INDEX notices_by_approval ON notices (approval_id);
CREATE INDEX notices_to_come ON notices (at) WHERE NOT happened;
CREATE INDEX notices_fresh ON notices (at) WHERE happened AND spread_at IS NULL;
CREATE INDEX notices_old ON notices (at) WHERE happened;

-- A notice on its way to one notifier: each has its own pace, so that one that is away holds up no other.
CREATE TABLE notice_deliveries (
    notice_id   text        NOT NULL,
    notifier    text        NOT NULL,
    attempts    integer     NOT NULL DEFAULT 0,
    -- Not to be taken before. A relay that takes it moves this ahead, so that it comes back should the relay die.
    next_at     timestamptz NOT NULL DEFAULT now(),
    sent_at     timestamptz,
    given_up_at timestamptz,
    -- A code, never a text of the other side.
    last_error  text,
    CONSTRAINT notice_deliveries_pkey PRIMARY KEY (notice_id, notifier),
    CONSTRAINT notice_deliveries_of_notice FOREIGN KEY (notice_id) REFERENCES notices ON DELETE CASCADE,
    CONSTRAINT notice_deliveries_end_one_way CHECK (sent_at IS NULL OR given_up_at IS NULL)
);

CREATE INDEX notice_deliveries_due ON notice_deliveries (notifier, next_at) WHERE sent_at IS NULL AND given_up_at IS NULL;

-- The notifiers that workers have. One worker's notices are for another's notifiers too: while they are deployed, not all have the same.
CREATE TABLE notifiers (
    name    text        NOT NULL,
    -- When a worker that has it was last there, about.
    seen_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT notifiers_pkey PRIMARY KEY (name)
);
