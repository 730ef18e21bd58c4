"""Contact felt from joint torques, reactions to it, energy kept and limits held, around any law (experimental).

    [reactions]              in a scenario: what happens when a contact is felt
    palpate reactions NAME   predicted delay, force and energy; false alarms counted

`reactions` is the settings class; `observer`, `thresholds`, `reaction`, `energy` and `barriers` are the parts of the
compiled loop, `impact` and `limits` the two-body model of a contact and a file of permitted forces.
"""
